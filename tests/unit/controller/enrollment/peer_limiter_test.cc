#include "controller/enrollment/peer_limiter.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

const absl::Time kLimiterNow = absl::FromUnixSeconds(1'900'000'000);

TEST(PeerLimiter, PortsDoNotCountPeersDo) {
  PeerLimiter limiter;
  for (int i = 0; i < PeerLimiter::kBurst; ++i) {
    EXPECT_TRUE(limiter.MayTry(absl::StrCat("ipv4:10.0.0.1:", i), kLimiterNow));
    limiter.Failed(absl::StrCat("ipv4:10.0.0.1:", i), kLimiterNow);
  }
  EXPECT_FALSE(limiter.MayTry("ipv4:10.0.0.1:99", kLimiterNow));
  EXPECT_TRUE(limiter.MayTry("ipv4:10.0.0.2:99", kLimiterNow));
  EXPECT_TRUE(limiter.MayTry("ipv4:10.0.0.1:99", kLimiterNow + PeerLimiter::kRefill));
}

TEST(PeerLimiter, AClockThatWasSetBackLocksNobodyOut) {
  PeerLimiter limiter;
  const absl::Time ahead = kLimiterNow + absl::Hours(5);
  for (int i = 0; i < PeerLimiter::kBurst; ++i) limiter.Failed("ipv4:10.0.0.1:1", ahead);
  limiter.Failed("ipv4:10.0.0.2:1", ahead);
  EXPECT_TRUE(limiter.MayTry("ipv4:10.0.0.2:1", kLimiterNow));
  EXPECT_FALSE(limiter.MayTry("ipv4:10.0.0.1:1", kLimiterNow));
  EXPECT_TRUE(limiter.MayTry("ipv4:10.0.0.1:1", kLimiterNow + PeerLimiter::kRefill));
}

TEST(PeerLimiter, OneMachineHasNoBucketForEachAddressOfItsNetwork) {
  PeerLimiter limiter;
  for (int i = 0; i < PeerLimiter::kBurst; ++i)
    limiter.Failed(absl::StrCat("ipv6:[2001:db8::", i, "]:1"), kLimiterNow);
  EXPECT_FALSE(limiter.MayTry("ipv6:[2001:db8::ffff]:1", kLimiterNow));
  EXPECT_TRUE(limiter.MayTry("ipv6:[2001:db8:0:1::1]:1", kLimiterNow));
}

TEST(PeerLimiter, ACrowdDoesNotHideWhoKeepsGuessing) {
  PeerLimiter limiter;
  const auto stranger = [](size_t i) {
    return absl::StrCat("ipv6:[2001:db8:", absl::Hex(i), "::1]:1");
  };
  for (size_t i = 0; i < PeerLimiter::kMaxPeers; ++i) limiter.Failed(stranger(i), kLimiterNow);
  for (int i = 0; i < PeerLimiter::kBurst; ++i) limiter.Failed("ipv6:[::1]:1", kLimiterNow);
  for (size_t i = 0; i < 100; ++i)
    limiter.Failed(stranger(PeerLimiter::kMaxPeers + i), kLimiterNow);
  EXPECT_FALSE(limiter.MayTry("ipv6:[::1]:2", kLimiterNow));
}

}  // namespace
}  // namespace muster::controller
