#include "common/base/text/peer.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Peer, AHostIsAnAddressAndItsNetworkTheSlash64) {
  const struct {
    const char* peer;
    const char* host;
    const char* network;
  } kCases[] = {
      {"ipv4:10.0.0.1:3456", "10.0.0.1", "10.0.0.1"},
      {"ipv6:[2001:db8:0:1::7]:3456", "2001:db8:0:1::7", "2001:db8:0:1::/64"},
      {"ipv6:[2001:DB8:0:1:ffff:0::8]:1", "2001:db8:0:1:ffff::8", "2001:db8:0:1::/64"},
      {"ipv6:%5B2001:db8:0:1::7%5D:3456", "2001:db8:0:1::7", "2001:db8:0:1::/64"},
      {"ipv6:[fe80::1%eth0]:1", "fe80::1%eth0", "fe80::/64"},
      {"ipv6:%5Bfe80::1%25eth0%5D:1", "fe80::1%eth0", "fe80::/64"},
      {"ipv6:[::ffff:10.0.0.1]:1", "10.0.0.1", "10.0.0.1"},
      {"unix:/run/x", "unix", "unix"},
      {"", "", ""},
  };
  for (const auto& [peer, host, network] : kCases) {
    EXPECT_EQ(PeerHost(peer), host) << peer;
    EXPECT_EQ(PeerNetwork(peer), network) << peer;
  }
}

TEST(Peer, AnAddressIsAsPeopleWriteIt) {
  EXPECT_EQ(PeerAddress("ipv4:10.0.0.1:3456"), "10.0.0.1:3456");
  EXPECT_EQ(PeerAddress("ipv6:%5B2001:db8::7%5D:3456"), "[2001:db8::7]:3456");
  EXPECT_EQ(PeerAddress("ipv6:[fe80::1%25eth0]:1"), "[fe80::1%eth0]:1");
  EXPECT_EQ(PeerAddress("unix:/run/x"), "unix:/run/x");
}

TEST(Peer, APortIsANumberOfSixteenBits) {
  EXPECT_EQ(PeerPort("ipv4:10.0.0.1:1023"), 1023);
  EXPECT_EQ(PeerPort("ipv6:%5B2001:db8::7%5D:65535"), 65535);
  EXPECT_EQ(PeerPort("ipv6:[::ffff:10.0.0.1]:600"), 600);
  for (const char* peer : {"", "unix:/run/x:7", "ipv4:10.0.0.1", "ipv4:10.0.0.1:", "ipv4:",
                           "ipv4:10.0.0.1:65536", "ipv4:10.0.0.1:-1", "ipv4:10.0.0.1:7x"})
    EXPECT_EQ(PeerPort(peer), std::nullopt) << peer;
}

}  // namespace
}  // namespace muster
