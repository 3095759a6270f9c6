#include "controller/session_log.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;

TEST(SessionLog, NamesNodesByTheirNames) {
  auto store = *OpenStore(":memory:");
  ASSERT_OK(store->Update([](Transaction& txn) {
    NodeRecord node;
    node.uuid = "3f6c";
    node.name = "c001";
    node.state = NodeRecord::kEnrolled;
    return txn.nodes().Put(node);
  }));
  std::vector<std::string> info, warnings;
  SessionLog log([&](absl::string_view uuid) { return NameOf(*store, uuid); },
                 [&](absl::string_view line) { info.emplace_back(line); },
                 [&](absl::string_view line) { warnings.emplace_back(line); });
  v1::Hello hello;
  hello.set_agent_version("1.0");
  log.OnConnected("3f6c", hello);
  log.OnDisconnected("3f6c");
  log.OnMisbehaved("3f6c", "a message of 1 GiB");
  log.OnFactsRefused("3f6c", "", absl::InvalidArgumentError("gpus[0].uuid: missing"));
  log.OnDisconnected("unknown");  // removed from the store meanwhile
  EXPECT_THAT(info, ElementsAre("node c001 (3f6c) connected, agent 1.0"));
  EXPECT_THAT(
      warnings,
      ElementsAre("node c001 (3f6c) is gone", "node c001 (3f6c) is cut off: a message of 1 GiB",
                  "node c001 (3f6c): gpus[0].uuid: missing", "node unknown is gone"));
}

}  // namespace
}  // namespace muster::controller
