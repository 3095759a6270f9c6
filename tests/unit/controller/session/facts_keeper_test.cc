#include "controller/session/facts_keeper.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/store/soci_store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/status_matchers.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FactsKeeperTest : public ::testing::Test {
 protected:
  FactsKeeperTest() : store_(OpenStore(":memory:").value()) {
    EXPECT_OK(store_.Update([](Transaction& txn) -> absl::Status {
      NodeRecord node;
      node.uuid = "u1";
      node.name = "c001";
      return txn.nodes().Put(node);
    }));
  }

  // The requests whose facts are said to be in the store.
  std::vector<std::string> Keep(const std::string& request_id) {
    std::vector<std::string> told;
    FactsKeeper keeper(store_, clock_, [&](const std::string& uuid, const std::string& id) {
      told.push_back(uuid + " " + id);
    });
    v1::FactsReport report;
    report.set_request_id(request_id);
    report.mutable_facts()->mutable_os()->set_kernel("6.1.0");
    keeper.OnFacts("u1", report);
    keeper.Stop();
    return told;
  }

  muster::testing::FailingStore store_;
  muster::testing::FakeClock clock_;
};

TEST_F(FactsKeeperTest, WhoAskedIsToldWhenTheyAreInTheStore) {
  EXPECT_THAT(Keep("r1"), ElementsAre("u1 r1"));
  EXPECT_THAT(Keep(""), IsEmpty()) << "nobody asked";
}

// Otherwise a node would be judged by what it was before.
TEST_F(FactsKeeperTest, NobodyIsToldOfWhatTheStoreRefused) {
  store_.refuse = true;
  EXPECT_THAT(Keep("r1"), IsEmpty());
}

}  // namespace
}  // namespace muster::controller
