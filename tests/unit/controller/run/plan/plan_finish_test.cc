#include "controller/run/plan/plan_finish.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/digest.h"
#include "muster/v1/plan.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

const PlanIdentity kIdentity = {"r-1", 2, "uuid", "c001", 9, absl::FromUnixSeconds(100)};

v1::FileResource& AddFile(v1::Plan& plan, size_t bytes, char fill) {
  if (plan.roles().empty()) plan.add_roles();
  v1::FileResource& file = *plan.mutable_roles(0)->add_steps()->mutable_file();
  file.set_content(std::string(bytes, fill));
  return file;
}

TEST(PlanId, ComesApartAgain) {
  std::string run_id;
  uint32_t play = 0;
  EXPECT_TRUE(ParsePlanId(PlanId("r-1", 12), run_id, play));
  EXPECT_EQ(run_id, "r-1");
  EXPECT_EQ(play, 12u);
  for (const char* bad : {"", "r-1", "/1", "r-1/", "r-1/x", "r-1/-1"}) {
    EXPECT_FALSE(ParsePlanId(bad, run_id, play)) << bad;
  }
}

TEST(LeaveOutSkipped, KeepsOrderAndHandlers) {
  v1::Plan plan;
  v1::RolePlan& role = *plan.add_roles();
  for (const char* id : {"r/a", "r/b", "r/c", "r/d"}) role.add_steps()->set_step_id(id);
  role.mutable_steps(0)->set_skip_reason("when: false is false");
  role.mutable_steps(2)->set_skip_reason("loop: the list is empty");
  role.add_handlers()->set_skip_reason("when: false is false");
  plan.add_roles()->add_steps()->set_skip_reason("when: false is false");
  LeaveOutSkipped(plan);
  ASSERT_EQ(plan.roles(0).steps_size(), 2);
  EXPECT_EQ(plan.roles(0).steps(0).step_id(), "r/b");
  EXPECT_EQ(plan.roles(0).steps(1).step_id(), "r/d");
  EXPECT_EQ(plan.roles(0).handlers_size(), 1);
  EXPECT_EQ(plan.roles(1).steps_size(), 0) << "others may need the role";
}

TEST(FinishPlan, SetsIdentityAndDigest) {
  v1::Plan plan;
  PlanBlobs blobs;
  ASSERT_OK(FinishPlan(kIdentity, plan, blobs));
  EXPECT_EQ(plan.plan_id(), "r-1/2");
  EXPECT_EQ(plan.node_name(), "c001");
  EXPECT_EQ(plan.expires_at().seconds(), 100);
  EXPECT_EQ(plan.digest().size(), 64u);
  EXPECT_EQ(plan.digest(), PlanDigest(plan));
  plan.set_sequence(10);
  EXPECT_NE(plan.digest(), PlanDigest(plan));
}

TEST(FinishPlan, DigestDoesNotDependOnTheOrderOfAMap) {
  v1::Plan one, two;
  auto& first = *one.add_roles()->add_steps()->mutable_command()->mutable_environment();
  auto& second = *two.add_roles()->add_steps()->mutable_command()->mutable_environment();
  for (int i = 0; i < 50; ++i) first[std::to_string(i)] = "v";
  for (int i = 49; i >= 0; --i) second[std::to_string(i)] = "v";
  EXPECT_EQ(PlanDigest(one), PlanDigest(two));
}

TEST(FinishPlan, MovesTheLargestContentsOutUntilItFits) {
  v1::Plan plan;
  AddFile(plan, 100, 's');
  AddFile(plan, 2 << 20, 'l');
  AddFile(plan, 3 << 20, 'x');
  PlanBlobs blobs;
  ASSERT_OK(FinishPlan(kIdentity, plan, blobs));
  ASSERT_EQ(blobs.size(), 1u);
  const v1::FileResource& moved = plan.roles(0).steps(2).file();
  EXPECT_TRUE(moved.content().empty());
  EXPECT_EQ(moved.blob_size(), uint64_t{3} << 20);
  EXPECT_EQ(moved.blob_sha256(), Sha256Hex(*blobs.begin()->second));
  EXPECT_EQ(plan.roles(0).steps(1).file().content().size(), size_t{2} << 20);
}

TEST(FinishPlan, MovesContentsOutOfASetToo) {
  v1::Plan plan;
  v1::FileSetResource& set = *plan.add_roles()->add_steps()->mutable_files_in();
  set.add_files()->set_content(std::string(100, 's'));
  set.add_files()->set_content(std::string(size_t{4} << 20, 'l'));
  PlanBlobs blobs;
  ASSERT_OK(FinishPlan(kIdentity, plan, blobs));
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ(set.files(0).content().size(), 100u);
  EXPECT_EQ(set.files(1).content(), "");
  EXPECT_EQ(set.files(1).blob_size(), uint64_t{4} << 20);
  EXPECT_EQ(set.files(1).blob_sha256(), blobs.begin()->first);
}

TEST(FinishPlan, ASecretNeverBecomesABlob) {
  v1::Plan plan;
  AddFile(plan, 2 << 20, 'l');
  AddFile(plan, 5 << 19, 'x');
  plan.mutable_roles(0)->mutable_steps(1)->set_sensitive(true);
  PlanBlobs blobs;
  ASSERT_OK(FinishPlan(kIdentity, plan, blobs));
  ASSERT_EQ(blobs.size(), 1u);
  EXPECT_EQ((*blobs.begin()->second)[0], 'l');
  EXPECT_EQ(plan.roles(0).steps(1).file().content().size(), size_t{5} << 19);
}

TEST(FinishPlan, ManySmallContentsThatDoNotFitAreAnError) {
  v1::Plan plan;
  for (int i = 0; i < 2000; ++i) AddFile(plan, 2000, 's');
  PlanBlobs blobs;
  EXPECT_THAT(FinishPlan(kIdentity, plan, blobs),
              StatusIs(absl::StatusCode::kResourceExhausted, Said()));
}

}  // namespace
}  // namespace muster::controller
