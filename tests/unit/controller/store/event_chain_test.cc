#include "controller/store/event_chain.h"

#include <gtest/gtest.h>

namespace muster::controller {
namespace {

EventRecord Sample() {
  EventRecord event;
  event.sequence = 7;
  event.time = absl::FromUnixSeconds(1700000000);
  event.actor = "admin:alice";
  event.peer = "10.0.0.1:5000";
  event.action = "token.create";
  event.subject = "c001";
  event.detail = "1 h";
  return event;
}

TEST(ChainHash, ChangesWithEveryField) {
  const std::string hash = ChainHash("before", Sample());
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(hash, ChainHash("before", Sample()));
  EXPECT_NE(hash, ChainHash("other", Sample()));
  EventRecord event = Sample();
  event.sequence = 8;
  EXPECT_NE(hash, ChainHash("before", event));
  event = Sample();
  event.time += absl::Microseconds(1);
  EXPECT_NE(hash, ChainHash("before", event));
  for (std::string EventRecord::*field :
       {&EventRecord::actor, &EventRecord::peer, &EventRecord::action, &EventRecord::subject,
        &EventRecord::detail}) {
    event = Sample();
    event.*field += "x";
    EXPECT_NE(hash, ChainHash("before", event));
  }
}

TEST(ChainHash, KeepsTheBordersOfFields) {
  EventRecord left = Sample(), right = Sample();
  left.subject = "ab";
  left.detail = "c";
  right.subject = "a";
  right.detail = "bc";
  EXPECT_NE(ChainHash("", left), ChainHash("", right));
}

}  // namespace
}  // namespace muster::controller
