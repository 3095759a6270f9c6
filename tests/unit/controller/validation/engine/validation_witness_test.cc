// A node that is validated alone, and the node that is borrowed for it, from the claim to the end.
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "controller/validation/engine/validation_manager.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ValidationWitnessTest : public ValidationEngineTest {
 protected:
  ValidationWitnessTest() {
    inventory_ =
        std::make_shared<const Inventory>(ParseInventory({{"cluster.yaml",
                                                           "cluster: test\n"
                                                           "nodes:\n"
                                                           "  login1: {role: login}\n"
                                                           "  c[001-004]: {role: compute}\n"}})
                                              .value());
    site_["playbooks/suites/net.yaml"] =
        "name: net\ndescription: d\nadmits: true\nstages:\n"
        "  - {name: look, checks: [{check: probe, time_limit: 60s}]}\n"
        "  - {name: net, checks: [{check: link, time_limit: 60s}]}\n";
    EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
      for (const char* name : {"c003", "c004", "login1"}) {
        NodeRecord node;
        node.uuid = std::string("u-") + name;
        node.name = name;
        node.state = NodeRecord::kConfigured;
        RETURN_IF_ERROR(txn.nodes().Put(node));
      }
      NodePassRecord pass = {"u-c002", "v-old", "net", "digest"};
      return txn.node_service().PutPass(pass);
    }));
    for (const char* uuid : {"u-c003", "u-c004", "u-login1"}) sessions_.Connect(uuid);
    idle_ = {"c002", "c003", "c004"};
    OpenManager();
  }

  void OpenManager() {
    gate_.on_hold = [this](const std::string&, const std::vector<std::string>& nodes) {
      return with_job_.count(nodes[0]) == 0
                 ? absl::OkStatus()
                 : absl::FailedPreconditionError("job 12 (eve, train) runs on c001");
    };
    gate_.to_borrow = [this](const std::vector<std::string>& nodes) {
      std::vector<std::string> idle;
      std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(idle),
                   [this](const std::string& node) { return idle_.count(node) > 0; });
      return idle;
    };
    manager_ = std::make_unique<ValidationManager>(Collaborators());
  }
  v1::Validation Validate(const std::string& nodes, bool force = false) {
    v1::CreateValidationRequest request;
    request.set_bundle_sha256("b");
    request.set_suite("net");
    request.set_nodes(nodes);
    request.set_force(force);
    return manager_->Create(request, {"operator:alice", "peer"}).value();
  }
  // In the fixture's engine, as after a restart of the controller.
  void Restart() {
    manager_.reset();
    Open();
    for (const char* uuid : {"u-c001", "u-c002"}) {
      v1::Hello hello;
      for (const std::string& id : running_) hello.add_check_ids(id);
      engine_->OnConnected(uuid, hello);
    }
    engine_->Flush();
  }
  std::string Started(const std::string& uuid) {
    for (const v1::ControllerMessage& message : sessions_.Take(uuid)) {
      if (message.has_start_check()) {
        EXPECT_FALSE(uuid == "u-c002" && message.start_check().force());
        running_.insert(message.start_check().check_id());
        return message.start_check().check_id();
      }
    }
    return "";
  }
  static const v1::NodeVerdict& Of(const v1::Validation& validation, const std::string& name) {
    for (const v1::NodeVerdict& node : validation.nodes()) {
      if (node.node() == name) return node;
    }
    ADD_FAILURE() << "no " << name;
    return v1::NodeVerdict::default_instance();
  }
  absl::StatusOr<std::string> PassOf(const std::string& uuid) {
    std::string id;
    RETURN_IF_ERROR(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const NodePassRecord pass, txn.node_service().GetPass(uuid));
      id = pass.validation_id;
      return absl::OkStatus();
    }));
    return id;
  }

  std::set<std::string> idle_, with_job_, running_;
  std::unique_ptr<ValidationManager> manager_;
};

TEST_F(ValidationWitnessTest, ANodeAloneIsMeasuredWithOneThatIsBorrowed) {
  const v1::Validation begun = Validate("c001");
  EXPECT_THAT(gate_.calls, ElementsAre("hold c001", "ask c002,c003,c004", "hold c002"));
  EXPECT_FALSE(Of(begun, "c001").is_witness());
  EXPECT_TRUE(Of(begun, "c002").is_witness());
  EXPECT_THAT(claims_->HeldOf({"c001", "c002", "c003"}), ElementsAre("c001", "c002"));
  const std::string look = Started("u-c001");
  EXPECT_EQ(Started("u-c002"), "") << "itself it is not under test";

  // The controller restarts in the middle, and the roles remain.
  Restart();
  EXPECT_THAT(claims_->HeldOf({"c001", "c002", "c003"}), ElementsAre("c001", "c002"));
  Report("u-c001", look, v1::OUTCOME_PASS);
  const std::string one = Started("u-c001"), two = Started("u-c002");
  EXPECT_THAT(one, HasSubstr("/1.0.0"));
  Report("u-c001", one, v1::OUTCOME_PASS);
  Report("u-c002", two, v1::OUTCOME_FAIL, "its card is broken");

  const v1::Validation done = engine_->Get(begun.validation_id()).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(Of(done, "c001").outcome(), v1::OUTCOME_PASS);
  EXPECT_EQ(PassOf("u-c001").value(), begun.validation_id());
  // The witness's results are shown, but do not affect it.
  EXPECT_TRUE(Of(done, "c002").is_witness());
  EXPECT_EQ(Of(done, "c002").outcome(), v1::OUTCOME_UNSPECIFIED);
  ASSERT_THAT(Of(done, "c002").checks(), SizeIs(1));
  EXPECT_EQ(Of(done, "c002").checks(0).outcome(), v1::OUTCOME_FAIL);
  EXPECT_EQ(PassOf("u-c002").value(), "v-old");
  EXPECT_EQ(gate_.judged.count("u-c002"), 0u);
  EXPECT_THAT(claims_->HeldOf({"c001", "c002"}), IsEmpty());
}

TEST_F(ValidationWitnessTest, AJobThatCameMeanwhileGoesFirst) {
  with_job_ = {"c002"};
  const v1::Validation begun = Validate("c001", /*force=*/true);
  EXPECT_THAT(gate_.calls,
              ElementsAre("hold c001 by force", "ask c002,c003,c004", "hold c002", "hold c003"));
  EXPECT_TRUE(Of(begun, "c003").is_witness());
  EXPECT_THAT(claims_->HeldOf({"c001", "c002", "c003"}), ElementsAre("c001", "c003"));
}

TEST_F(ValidationWitnessTest, WhoIsAwayOrHeldOrNotIdleIsNotAsked) {
  sessions_.Cut("u-c002");
  ASSERT_OK(claims_->Claim({"r-1", "run r-1 changes", "wait for it", clock_.Now()}, {"c003"}));
  idle_.clear();
  const v1::Validation begun = Validate("c001");
  EXPECT_THAT(gate_.calls, ElementsAre("hold c001", "ask c004"));
  EXPECT_THAT(begun.nodes(), SizeIs(1));
  const std::string look = Started("u-c001");
  Restart();
  Report("u-c001", look, v1::OUTCOME_PASS);
  const v1::Validation done = engine_->Get(begun.validation_id()).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(Of(done, "c001").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_FALSE(PassOf("u-c001").ok()) << "nobody has measured its network";
  EXPECT_THAT(Of(done, "c001").checks(1).reason(), Said());
}

TEST_F(ValidationWitnessTest, WhatTheWitnessSpoiltIsNotTheTestedNodesFault) {
  site_["playbooks/suites/net.yaml"] =
      "name: net\ndescription: d\nadmits: true\nstages:\n"
      "  - {name: net, checks: [{check: ring, time_limit: 60s}]}\n";
  const std::string id = Validate("c001").validation_id();
  const std::string one = Started("u-c001"), two = Started("u-c002");
  Restart();
  v1::CheckReport lost;
  lost.set_check_id(one);
  lost.mutable_result()->set_check("ring");
  lost.mutable_result()->set_outcome(v1::OUTCOME_UNKNOWN);
  lost.mutable_result()->set_lost_rank(1);
  engine_->OnReport("u-c001", lost);
  Report("u-c002", two, v1::OUTCOME_UNKNOWN, "the worker crashed");
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(Of(done, "c001").outcome(), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(Of(done, "c001").checks(0).reason(), Said());
  EXPECT_EQ(PassOf("u-c002").value(), "v-old");
}

TEST_F(ValidationWitnessTest, TwoNodesNeedNone) {
  Validate("c[001-002]");
  EXPECT_THAT(gate_.calls, ElementsAre("hold c001,c002"));
}

}  // namespace
}  // namespace muster::controller::validation
