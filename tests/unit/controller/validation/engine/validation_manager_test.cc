#include "controller/validation/engine/validation_manager.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The effect of a validation on Slurm's nodes.
class ValidationManagerTest : public ValidationEngineTest {
 protected:
  ValidationManagerTest() {
    gate_.on_hold = [this](const std::string& id, const std::vector<std::string>&) {
      // Told before the nodes are tested, and before anybody else sees the validation.
      EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
      EXPECT_EQ(Stored(id).code(), absl::StatusCode::kNotFound);
      id_ = id;
      return held_;
    };
    gate_.on_release = [this](const std::string& id) {
      EXPECT_EQ(id, id_);
      gate_.calls.push_back(Stored(id).ok() ? "release stored" : "release dropped");
    };
    manager_ = std::make_unique<ValidationManager>(Collaborators());
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
  std::unique_ptr<ValidationManager> manager_;
};

TEST_F(ValidationManagerTest, HoldsTheNodesBeforeItStoresAndStarts) {
  ASSERT_OK(Create(/*force=*/true));
  EXPECT_THAT(gate_.calls, ElementsAre("hold c001 by force", "release stored"));
  EXPECT_THAT(sessions_.TakeFactsRequests("u-c001"), ::testing::SizeIs(1));
  EXPECT_TRUE(Only("u-c001").has_start_check());
}

TEST_F(ValidationManagerTest, ARefusalLeavesNothingBehind) {
  held_ = absl::FailedPreconditionError("job 12 (eve, train) runs on c001");
  EXPECT_THAT(Create(/*force=*/false), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(gate_.calls, ElementsAre("hold c001", "release dropped"));
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  EXPECT_THAT(Audit(), IsEmpty());
  held_ = absl::OkStatus();
  EXPECT_OK(Create(/*force=*/false)) << "the node is free again";
}

// A validation that cannot have the nodes anyway takes nothing out of service.
TEST_F(ValidationManagerTest, HoldsNothingForAValidationThatCannotBe) {
  ASSERT_OK(claims_->Claim({"r-1", "run r-1 changes", "wait for it", clock_.Now()}, {"c001"}));
  EXPECT_THAT(Create(/*force=*/false), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(gate_.calls, IsEmpty());
}

TEST_F(ValidationManagerTest, SaysHowNodesStandInSlurmAndWhetherThatIsOld) {
  ASSERT_OK(Create(/*force=*/false));
  const v1::Validation now = manager_->Get(id_).value();
  EXPECT_EQ(now.nodes(0).service(), "c001 in service");
  EXPECT_FALSE(now.service_is_behind());
  gate_.behind = id_;
  EXPECT_TRUE(manager_->Get(id_)->service_is_behind());
}

TEST_F(ValidationManagerTest, AClockThatIsSetBackDoesNotStopTheValidations) {
  EXPECT_GT(manager_->Step(), clock_.Now());
  clock_.Advance(-absl::Hours(1));
  const absl::Time next = manager_->Step();
  EXPECT_GT(next, clock_.Now());
  EXPECT_LE(next, clock_.Now() + absl::Seconds(1));
}

}  // namespace
}  // namespace muster::controller::validation
