// Update policies over the wire: applied by an administrator, shown to everybody.
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "muster/v1/rollout.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kWorkers[] =
    "cluster: hpc1\nnodes: {login1: {role: login}, 'c[001-003]': {role: compute}}\n";

class PolicyFlowTest : public ControllerFixture {
 protected:
  v1::ApplyInventoryResponse Apply(const std::string& more) {
    v1::ApplyInventoryRequest request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path("cluster.yaml");
    file.set_content(absl::StrCat(kWorkers, more));
    v1::ApplyInventoryResponse response;
    grpc::ClientContext context;
    const auto stub =
        v1::InventoryService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "root")));
    const grpc::Status status = stub->ApplyInventory(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::ListUpdatePoliciesResponse List() {
    v1::ListUpdatePoliciesResponse response;
    grpc::ClientContext context;
    const auto stub =
        v1::RolloutService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
    const grpc::Status status = stub->ListUpdatePolicies(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
};

TEST_F(PolicyFlowTest, ViewersSeeWhatEachPolicyWaitsFor) {
  const uint64_t before = Apply("").revision();
  EXPECT_THAT(List().policies(), IsEmpty());
  const v1::ApplyInventoryResponse applied =
      Apply("updates: {nightly: {playbook: site.yaml, nodes: 'c[001-002]'}}\n");
  EXPECT_EQ(applied.revision(), before + 1) << "a policy alone is a change";
  const v1::ListUpdatePoliciesResponse listed = List();
  ASSERT_THAT(listed.policies(), SizeIs(1));
  const v1::UpdatePolicy& policy = listed.policies(0);
  EXPECT_EQ(policy.name(), "nightly");
  EXPECT_EQ(policy.request().limit(), "c[001-002]");
  EXPECT_EQ(policy.inventory_revision(), before + 1);
  EXPECT_EQ(policy.state(), v1::UPDATE_POLICY_STATE_STOPPED);
  EXPECT_THAT(policy.message(), Said());
  Apply("");
  EXPECT_THAT(List().policies(), IsEmpty());
}

TEST_F(PolicyFlowTest, AnErrorComesBackWithItsPlace) {
  const v1::ApplyInventoryResponse refused =
      Apply("updates: {nightly: {playbook: site.yaml, windw: 22:00-06:00}}\n");
  EXPECT_EQ(refused.refusal().code(), static_cast<uint32_t>(grpc::INVALID_ARGUMENT));
  EXPECT_THAT(absl::StrJoin(refused.refusal().errors(), "\n"), Said());
}

}  // namespace
}  // namespace muster::controller
