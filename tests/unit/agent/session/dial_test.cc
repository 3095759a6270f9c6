#include "agent/session/dial.h"

#include <netdb.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace muster::agent {
namespace {

using ::testing::ElementsAre;

// A list as the resolver has it for a controller with both kinds of addresses.
TEST(DialTest, ForAReservedPortIpv4ComesFirst) {
  addrinfo found[4] = {};
  const int kFamilies[] = {AF_INET6, AF_INET, AF_INET6, AF_INET};
  for (int i = 0; i < 4; ++i) {
    found[i].ai_family = kFamilies[i];
    found[i].ai_next = i + 1 < 4 ? &found[i + 1] : nullptr;
  }
  EXPECT_THAT(DialOrder(found, SourcePort::kReserved),
              ElementsAre(&found[1], &found[3], &found[0], &found[2]));
  EXPECT_THAT(DialOrder(found, SourcePort::kAny),
              ElementsAre(&found[0], &found[1], &found[2], &found[3]));
  EXPECT_THAT(DialOrder(nullptr, SourcePort::kReserved), ElementsAre());
}

}  // namespace
}  // namespace muster::agent
