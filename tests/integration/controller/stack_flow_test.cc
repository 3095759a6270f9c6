// Stacks over the wire: read, compared with nodes and with each other.
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_join.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "muster/v1/stack.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kOldStack[] =
    "description: old\n"
    "os: [debian 12]\n"
    "kernel: {from: '6.1', below: '6.2'}\n"
    "driver: {branch: '535', version: 535.261.03, modules: proprietary}\n"
    "slurm: {version: 22.05.8}\n";
constexpr char kNewStack[] =
    "description: new\n"
    "os: [debian 13]\n"
    "kernel: {from: '6.12', below: '6.13'}\n"
    "driver: {branch: '590', version: 590.44.01, modules: open}\n"
    "slurm: {version: 24.11.5}\n";
constexpr char kStackInventory[] =
    "cluster: hpc1\n"
    "nodes:\n"
    "  login1: {role: login}\n"
    "  'c[001-003]': {role: compute, groups: [gpu]}\n"
    "groups: {gpu: {vars: {stack: old, gpu_model: NVIDIA GP}}}\n";

class StackFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    v1::ApplyInventoryRequest request;
    Add("cluster.yaml", kStackInventory, request);
    v1::ApplyInventoryResponse response;
    grpc::ClientContext context;
    const auto inventory =
        v1::InventoryService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "root")));
    const grpc::Status status = inventory->ApplyInventory(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    stub_ = v1::StackService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
  }

  template <typename Request>
  static void Add(const std::string& path, const std::string& content, Request& request) {
    v1::InventoryFile& file = *request.add_files();
    file.set_path(path);
    file.set_content(content);
  }
  template <typename Request>
  static Request WithFiles() {
    Request request;
    Add("playbooks/stacks/old.yaml", kOldStack, request);
    Add("playbooks/stacks/new.yaml", kNewStack, request);
    Add("inventory/hardware/gp.yaml", "kind: gpu\nmatch: [NVIDIA GP]\ngeneration: pascal\n",
        request);
    return request;
  }
  template <typename Request, typename Response>
  grpc::Status Ask(grpc::Status (v1::StackService::Stub::*method)(grpc::ClientContext*,
                                                                  const Request&, Response*),
                   const Request& request, Response& response) {
    grpc::ClientContext context;
    return (stub_.get()->*method)(&context, request, &response);
  }

  std::unique_ptr<v1::StackService::Stub> stub_;
};

TEST_F(StackFlowTest, FilesAreReadAndTheirErrorsComeBack) {
  v1::ReadStacksResponse response;
  ASSERT_TRUE(
      Ask(&v1::StackService::Stub::ReadStacks, WithFiles<v1::ReadStacksRequest>(), response).ok());
  ASSERT_THAT(response.stacks(), SizeIs(2));
  EXPECT_EQ(response.stacks(1).name(), "old");
  EXPECT_EQ(response.stacks(1).components(0).details().at("branch"), "535");

  v1::ReadStacksRequest wrong;
  Add("playbooks/stacks/old.yaml", std::string(kOldStack) + "fabric_manager: {version: 1}\n",
      wrong);
  grpc::Status status = Ask(&v1::StackService::Stub::ReadStacks, wrong, response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.refusal().code(), static_cast<uint32_t>(grpc::INVALID_ARGUMENT));
  EXPECT_THAT(absl::StrJoin(response.refusal().errors(), "\n"), Said());

  v1::ReadStacksRequest elsewhere;
  Add("playbooks/stacks/../../etc/passwd.yaml", kOldStack, elsewhere);
  status = Ask(&v1::StackService::Stub::ReadStacks, elsewhere, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), Said());
}

TEST_F(StackFlowTest, NodesAreComparedWithTheirStacks) {
  v1::CheckStacksResponse response;
  ASSERT_TRUE(
      Ask(&v1::StackService::Stub::CheckStacks, WithFiles<v1::CheckStacksRequest>(), response)
          .ok());
  ASSERT_THAT(response.nodes(), SizeIs(2));
  EXPECT_EQ(response.nodes(0).nodes(), "login1");
  EXPECT_EQ(response.nodes(0).stack(), "");
  EXPECT_EQ(response.nodes(1).nodes(), "c[001-003]");
  EXPECT_EQ(response.nodes(1).stack(), "old");
  EXPECT_THAT(response.nodes(1).chosen_at(), HasSubstr("cluster.yaml:5"));
  EXPECT_THAT(response.nodes(1).problems(), SizeIs(0));
  EXPECT_TRUE(response.nodes(1).without_facts());

  auto nobody = WithFiles<v1::CheckStacksRequest>();
  nobody.set_nodes("gpus");
  const grpc::Status status = Ask(&v1::StackService::Stub::CheckStacks, nobody, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), Said());
}

TEST_F(StackFlowTest, AChangeOfStackIsShownBeforehand) {
  auto request = WithFiles<v1::DiffStacksRequest>();
  request.set_stack("old");
  request.set_stack_or_nodes("new");
  v1::DiffStacksResponse response;
  ASSERT_TRUE(Ask(&v1::StackService::Stub::DiffStacks, request, response).ok());
  ASSERT_THAT(response.diffs(), SizeIs(1));
  EXPECT_EQ(response.diffs(0).to(), "new");
  EXPECT_THAT(response.diffs(0).changes(), SizeIs(6));

  request.set_stack("new");
  request.set_stack_or_nodes("gpu");
  ASSERT_TRUE(Ask(&v1::StackService::Stub::DiffStacks, request, response).ok());
  ASSERT_THAT(response.diffs(), SizeIs(1));
  EXPECT_EQ(response.diffs(0).nodes(), "c[001-003]");
  EXPECT_EQ(response.diffs(0).from(), "old");
  EXPECT_THAT(response.diffs(0).changes(), SizeIs(6));
  EXPECT_THAT(response.diffs(0).problems(), SizeIs(2));  // age of the GPUs, modules

  request.set_stack_or_nodes("odl");
  const grpc::Status status = Ask(&v1::StackService::Stub::DiffStacks, request, response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), Said());
}

}  // namespace
}  // namespace muster::controller
