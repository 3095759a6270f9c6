#include "controller/validation/engine/validation_manager.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The effect of a validation on Slurm's nodes.
class ValidationManagerTest : public ValidationEngineTest {
 protected:
  ValidationManagerTest() {
    ValidationCollaborators with = Collaborators();
    with.hold = [this](const std::string& id, const std::vector<std::string>& nodes, bool force) {
      // Drained before the nodes are tested, and before anybody else sees the validation.
      EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
      EXPECT_EQ(Stored(id).code(), absl::StatusCode::kNotFound);
      calls_.push_back(absl::StrCat("hold ", absl::StrJoin(nodes, ","), force ? " by force" : ""));
      id_ = id;
      return held_;
    };
    with.release = [this](const std::string& id) {
      EXPECT_EQ(id, id_);
      calls_.push_back(Stored(id).ok() ? "release stored" : "release dropped");
    };
    with.service_of = [](const std::string& node) { return absl::StrCat(node, " in service"); };
    with.service_is_behind = [this](const std::string& id) { return id == behind_; };
    manager_ = std::make_unique<ValidationManager>(std::move(with));
  }

  absl::Status Stored(const std::string& id) {
    return store_->View([&](Transaction& txn) { return txn.validations().Get(id).status(); });
  }
  absl::Status Create(bool force) {
    v1::CreateValidationRequest request;
    request.set_bundle_sha256("b");
    request.set_suite("probe");
    request.set_nodes("c001");
    request.set_force(force);
    return manager_->Create(request, {"operator:alice", "peer"}).status();
  }

  absl::Status held_;
  std::string id_;
  std::string behind_;
  std::vector<std::string> calls_;
  std::unique_ptr<ValidationManager> manager_;
};

TEST_F(ValidationManagerTest, HoldsTheNodesBeforeItStoresAndStarts) {
  ASSERT_OK(Create(/*force=*/true));
  EXPECT_THAT(calls_, ElementsAre("hold c001 by force", "release stored"));
  EXPECT_THAT(sessions_.TakeFactsRequests("u-c001"), ::testing::SizeIs(1));
  EXPECT_TRUE(Only("u-c001").has_start_check());
}

TEST_F(ValidationManagerTest, ARefusalLeavesNothingBehind) {
  held_ = absl::FailedPreconditionError("job 12 (eve, train) runs on c001");
  EXPECT_THAT(Create(/*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("job 12")));
  EXPECT_THAT(calls_, ElementsAre("hold c001", "release dropped"));
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  EXPECT_THAT(Audit(), IsEmpty());
  held_ = absl::OkStatus();
  EXPECT_OK(Create(/*force=*/false)) << "the node is free again";
}

// A validation that cannot have the nodes anyway takes nothing out of service.
TEST_F(ValidationManagerTest, HoldsNothingForAValidationThatCannotBe) {
  ASSERT_OK(claims_->Claim({"r-1", "run r-1 changes", "wait for it", clock_.Now()}, {"c001"}));
  EXPECT_THAT(Create(/*force=*/false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("run r-1")));
  EXPECT_THAT(calls_, IsEmpty());
}

TEST_F(ValidationManagerTest, SaysHowNodesStandInSlurmAndWhetherThatIsOld) {
  ASSERT_OK(Create(/*force=*/false));
  const v1::Validation now = manager_->Get(id_).value();
  EXPECT_EQ(now.nodes(0).service(), "c001 in service");
  EXPECT_FALSE(now.service_is_behind());
  behind_ = id_;
  EXPECT_TRUE(manager_->Get(id_)->service_is_behind());
}

}  // namespace
}  // namespace muster::controller::validation
