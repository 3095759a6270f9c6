// Errors in files, over the wire: thousands of lines, where a status holds only some.
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "muster/v1/explain.grpc.pb.h"
#include "muster/v1/hardware.grpc.pb.h"
#include "muster/v1/inventory.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "muster/v1/validation.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kErrors = 400;

class RefusalTest : public ControllerFixture {
 protected:
  template <typename Service>
  std::unique_ptr<typename Service::Stub> Stub() {
    return Service::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  }

  // Calls `method`, which must refuse by its response.
  template <typename Stub, typename Request, typename Response>
  v1::Refusal Refused(Stub& stub,
                      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      const Request& request) {
    grpc::ClientContext context;
    Response response;
    const grpc::Status status = (stub.*method)(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_TRUE(response.has_refusal());
    EXPECT_EQ(response.refusal().code(), static_cast<uint32_t>(grpc::INVALID_ARGUMENT));
    return response.refusal();
  }

  // A site with a playbook and a suite that are wrong in each line.
  std::string Site() {
    std::string playbook = "- play: p\n  hosts: all\n  tasks:\n";
    std::string suite = "name: wrong\ndescription: x\nstages:\n";
    for (int i = 0; i < kErrors; ++i) {
      absl::StrAppend(&playbook, "    - {name: t", i, ", fyle: {path: /x}}\n");
      // A stage has at most 50 checks.
      if (i % 50 == 0) absl::StrAppend(&suite, "  - name: s", i, "\n    checks:\n");
      absl::StrAppend(&suite, "      - {check: no-such-", i, "}\n");
    }
    const std::string bundle =
        sys::PackTarGz({{"playbooks/site.yaml", playbook}, {"playbooks/suites/wrong.yaml", suite}})
            .value();
    return DiskBlobStore::Open(config_.state_directory + "/blobs").value()->Put(bundle).value();
  }

  template <typename Request>
  static Request WithFile(const std::string& path, const std::string& content) {
    Request request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path(path);
    file.set_content(content);
    return request;
  }
};

TEST_F(RefusalTest, AnInventoryWithHundredsOfErrorsIsRefusedWithAllOfThem) {
  std::string text = "cluster: test\nnodes:\n";
  for (int i = 0; i < kErrors; ++i) absl::StrAppend(&text, "  c", i, ": {roel: compute}\n");
  using Service = v1::InventoryService;
  const auto stub = Stub<Service>();
  const auto expect_all = [&](const v1::Refusal& refusal) {
    ASSERT_THAT(refusal.errors(), SizeIs(::testing::Ge(kErrors)));
    EXPECT_THAT(refusal.errors(0), AllOf(HasSubstr("cluster.yaml:3:"), HasSubstr("roel")));
    EXPECT_EQ(refusal.more(), 0u);
  };
  expect_all(Refused(*stub, &Service::Stub::CheckInventory,
                     WithFile<v1::CheckInventoryRequest>("cluster.yaml", text)));
  expect_all(Refused(*stub, &Service::Stub::ApplyInventory,
                     WithFile<v1::ApplyInventoryRequest>("cluster.yaml", text)));
  expect_all(Refused(*stub, &Service::Stub::DiffInventory,
                     WithFile<v1::DiffInventoryRequest>("cluster.yaml", text)));
}

TEST_F(RefusalTest, APlaybookWithHundredsOfErrorsIsRefusedWithAllOfThem) {
  const std::string bundle = Site();
  v1::CreateRunRequest run;
  run.set_bundle_sha256(bundle);
  run.set_playbook("playbooks/site.yaml");
  const v1::Refusal refused =
      Refused(*Stub<v1::RunService>(), &v1::RunService::Stub::CreateRun, run);
  EXPECT_THAT(refused.errors(), SizeIs(kErrors));
  EXPECT_THAT(refused.errors(399), HasSubstr("playbooks/site.yaml:403:"));

  v1::ExplainVariableRequest explain;
  explain.set_name("x");
  explain.set_node("c001");
  explain.set_bundle_sha256(bundle);
  explain.set_playbook("playbooks/site.yaml");
  EXPECT_THAT(
      Refused(*Stub<v1::ExplainService>(), &v1::ExplainService::Stub::ExplainVariable, explain)
          .errors(),
      SizeIs(kErrors));
}

TEST_F(RefusalTest, ASuiteAndHardwareFilesWithHundredsOfErrorsAreRefusedWithAllOfThem) {
  v1::CreateValidationRequest validation;
  validation.set_bundle_sha256(Site());
  validation.set_suite("wrong");
  validation.set_nodes("c001");
  EXPECT_THAT(Refused(*Stub<v1::ValidationService>(),
                      &v1::ValidationService::Stub::CreateValidation, validation)
                  .errors(),
              SizeIs(::testing::Ge(kErrors)));

  std::string text = "kind: gpu\nmatch: [x]\nlimits:\n";
  for (int i = 0; i < kErrors; ++i) absl::StrAppend(&text, "  - {check: no-such-", i, "}\n");
  const auto hardware = Stub<v1::HardwareService>();
  EXPECT_THAT(Refused(*hardware, &v1::HardwareService::Stub::ReadHardware,
                      WithFile<v1::ReadHardwareRequest>("inventory/hardware/x.yaml", text))
                  .errors(),
              SizeIs(::testing::Ge(kErrors)));
}

// The safety net under all calls: gRPC would say "received initial metadata size exceeds limit".
TEST_F(RefusalTest, AMessageThatFitsNoStatusIsCutAndKeepsItsCode) {
  v1::GetRunRequest request;
  request.set_run_id(std::string(50'000, 'x'));
  v1::GetRunResponse response;
  grpc::ClientContext context;
  const grpc::Status status = Stub<v1::RunService>()->GetRun(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_THAT(status.error_message(), AllOf(Said(), Not(HasSubstr("metadata"))));
}

}  // namespace
}  // namespace muster::controller
