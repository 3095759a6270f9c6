#include "controller/enrollment/peer_limiter.h"

#include <string>

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

std::string Ipv6Peer(int i) { return absl::StrCat("ipv6:[2001:db8::", absl::Hex(i), "]:1"); }

TEST(PeerLimiter, AddressesOfANetworkDoNotCountForEachOther) {
  PeerLimiter limiter;
  for (int i = 0; i < PeerLimiter::kBurst; ++i) limiter.Failed(Ipv6Peer(1), kLimiterNow);
  EXPECT_FALSE(limiter.MayTry(Ipv6Peer(1), kLimiterNow));
  EXPECT_TRUE(limiter.MayTry(Ipv6Peer(2), kLimiterNow));
}

TEST(PeerLimiter, ThousandMachinesOfANetworkMayBootAtOnce) {
  PeerLimiter limiter;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(limiter.MayTry(Ipv6Peer(i), kLimiterNow)) << i;
    limiter.Failed(Ipv6Peer(i), kLimiterNow);
  }
}

TEST(PeerLimiter, OneMachineDoesNotGuessByEachAddressOfItsNetwork) {
  PeerLimiter limiter;
  int tried = 0;
  const auto guess = [&](absl::Time now) {
    for (int i = 0; i < 5000; ++i) {
      if (!limiter.MayTry(Ipv6Peer(tried), now)) return;
      limiter.Failed(Ipv6Peer(tried++), now);
    }
  };
  guess(kLimiterNow);
  EXPECT_EQ(tried, PeerLimiter::kNetworkBurst);
  EXPECT_TRUE(limiter.MayTry("ipv6:[2001:db8:0:1::1]:1", kLimiterNow)) << "another network";
  guess(kLimiterNow + absl::Seconds(2));
  EXPECT_EQ(tried, PeerLimiter::kNetworkBurst + 40);
}

TEST(PeerLimiter, ACrowdDoesNotHideWhoKeepsGuessing) {
  PeerLimiter limiter;
  const auto stranger = [](size_t i) {
    return absl::StrCat("ipv6:[2001:db8:", absl::Hex(i), "::1]:1");
  };
  // Each has a bucket of its own and one of its network.
  const size_t strangers = PeerLimiter::kMaxPeers / 2;
  for (size_t i = 0; i < strangers; ++i) limiter.Failed(stranger(i), kLimiterNow);
  for (int i = 0; i < PeerLimiter::kBurst; ++i) limiter.Failed("ipv6:[::1]:1", kLimiterNow);
  for (size_t i = 0; i < 100; ++i) limiter.Failed(stranger(strangers + i), kLimiterNow);
  EXPECT_FALSE(limiter.MayTry("ipv6:[::1]:2", kLimiterNow));
}

}  // namespace
}  // namespace muster::controller
