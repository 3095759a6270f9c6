#include "common/base/text/ip_network.h"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(IpNetwork, HasTheAddressesThatBeginAsItDoes) {
  const struct {
    const char* network;
    const char* address;
    bool is_in;
  } kCases[] = {
      {"10.1.2.0/24", "10.1.2.0", true},     {"10.1.2.0/24", "10.1.2.255", true},
      {"10.1.2.0/24", "10.1.3.0", false},    {"10.1.2.0/24", "9.1.2.7", false},
      {"10.0.0.0/8", "10.255.0.1", true},    {"10.1.2.7/32", "10.1.2.7", true},
      {"10.1.2.7/32", "10.1.2.6", false},    {"10.1.2.128/25", "10.1.2.127", false},
      {"10.1.2.0/24", "2001:db8::7", false}, {"10.1.2.0/24", "", false},
      {"10.1.2.0/24", "10.1.2.7 ", false},
  };
  for (const auto& each : kCases) {
    const absl::StatusOr<IpNetwork> network = IpNetwork::Parse(each.network);
    ASSERT_TRUE(network.ok()) << each.network;
    EXPECT_EQ(network->Contains(each.address), each.is_in) << each.network << " " << each.address;
  }
}

TEST(IpNetwork, OtherTextsAreErrors) {
  for (const char* text :
       {"", "10.0.0.0", "10.0.0.0/", "/24", "10.0.0.0/33", "10.0.0.0/7", "0.0.0.0/0", "10.0.0.0/-1",
        "10.0.0.1/24", "10.0.0/24", "fd00::/64", "10.0.0.0/24/24", "10.0.0.0/24x"})
    EXPECT_FALSE(IpNetwork::Parse(text).ok()) << text;
}

TEST(IpNetwork, OnlyThisMachineIsLoopback) {
  for (const char* host : {"localhost", "127.0.0.1", "127.8.0.1", "[::1]"})
    EXPECT_TRUE(IsLoopbackHost(host)) << host;
  // A name may begin like an address.
  for (const char* host : {"", "127.example.org", "127.0.0.1.example.org", "127.", "10.0.0.1",
                           "::1", "0.0.0.0", "[::]", "localhost.example.org"})
    EXPECT_FALSE(IsLoopbackHost(host)) << host;
}

}  // namespace
}  // namespace muster
