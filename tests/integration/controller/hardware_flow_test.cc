// Hardware files and the floors learned for them, over the wire.
#include <string>

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/hardware.grpc.pb.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kFile[] =
    "kind: gpu\n"
    "match: [NVIDIA L4]\n"
    "limits:\n"
    "  - check: gpu-memory\n"
    "    metric: memory_gbytes_per_s\n"
    "    unit: GB/s\n"
    "    peak: 300\n"
    "    source: data sheet\n";

class HardwareFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) { return PutResults(txn); }));
    }
    Start();
  }

  // Eight GPUs of one node that passed.
  static absl::Status PutResults(Transaction& txn) {
    const absl::Time now = RealClock().Now();
    ValidationRecord validation;
    validation.validation_id = "v-1";
    validation.state = ValidationRecord::kDone;
    validation.suite = "acceptance";
    validation.created_at = now;
    RETURN_IF_ERROR(txn.validations().Put(validation));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c001", "u", v1::OUTCOME_PASS, ""}));
    ValidationCheckRecord check;
    check.check_id = "v-1/0";
    check.validation_id = "v-1";
    check.node = "c001";
    check.name = "gpu-memory";
    check.phase = 2;
    check.outcome = v1::OUTCOME_PASS;
    RETURN_IF_ERROR(txn.validation_checks().Put(check));
    v1::CheckResult result;
    for (int i = 0; i < 8; ++i) {
      v1::Subject& gpu = *result.add_subjects();
      gpu.set_id(absl::StrCat("GPU-", i));
      gpu.set_kind("gpu");
      gpu.set_model("NVIDIA L4");
      v1::Metric& metric = *result.add_metrics();
      metric.set_name("memory_gbytes_per_s");
      metric.set_unit("GB/s");
      metric.set_subject(gpu.id());
      metric.set_value(260);
    }
    return txn.validation_checks().PutResult({"v-1/0", now, validation::PackResult(result)});
  }

  std::unique_ptr<v1::HardwareService::Stub> As(Role role) {
    return v1::HardwareService::NewStub(Connect(controller_->port(), Issue(role, "alice")));
  }
  static v1::InventoryFile File(const std::string& path, const std::string& content) {
    v1::InventoryFile file;
    file.set_path(path);
    file.set_content(content);
    return file;
  }
};

TEST_F(HardwareFlowTest, FloorsAreLearnedFromWhatIsStored) {
  v1::LearnHardwareRequest request;
  *request.add_files() = File("inventory/hardware/l4.yaml", kFile);
  request.set_min_subjects(8);  // a single node makes no floor unless a person says so
  v1::LearnHardwareResponse response;
  {
    grpc::ClientContext context;
    EXPECT_EQ(As(Role::kViewer)->LearnHardware(&context, request, &response).error_code(),
              grpc::StatusCode::PERMISSION_DENIED);
  }
  grpc::ClientContext context;
  const grpc::Status status = As(Role::kOperator)->LearnHardware(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.results(), 1u);
  EXPECT_EQ(response.nodes(), 1u);
  ASSERT_THAT(response.models(), SizeIs(1));
  EXPECT_THAT(response.models(0).diff(), HasSubstr("+    floor: 247\n"));
  grpc::ClientContext unknown;
  request.add_models("h100");
  const grpc::Status missing = As(Role::kOperator)->LearnHardware(&unknown, request, &response);
  EXPECT_EQ(missing.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(missing.error_message(), Said());
}

TEST_F(HardwareFlowTest, FilesAreReadAndTheirErrorsComeBack) {
  const auto stub = As(Role::kViewer);
  v1::ReadHardwareResponse response;
  const auto read = [&](const std::string& path, const std::string& content) {
    v1::ReadHardwareRequest request;
    *request.add_files() = File(path, content);
    grpc::ClientContext context;
    return stub->ReadHardware(&context, request, &response);
  };
  ASSERT_TRUE(read("inventory/hardware/l4.yaml", kFile).ok());
  ASSERT_THAT(response.models(), SizeIs(1));
  EXPECT_EQ(response.models(0).limits(0).source(), "inventory/hardware/l4.yaml:4, data sheet");
  const auto refused = [&](const std::string& content) {
    EXPECT_TRUE(read("inventory/hardware/l4.yaml", content).ok());
    EXPECT_EQ(response.refusal().code(), static_cast<uint32_t>(grpc::INVALID_ARGUMENT));
    return absl::StrJoin(response.refusal().errors(), "\n");
  };
  EXPECT_THAT(refused("kind: gpu\nmatch: [x]\nlimit: []\n"),
              HasSubstr("l4.yaml:3:1: unknown key 'limit'"));
  const auto read_limit = [&](const std::string& limit) {
    return refused(absl::StrCat("kind: gpu\nmatch: [x]\nlimits:\n  - {", limit, "}\n"));
  };
  EXPECT_THAT(read_limit("check: gpu-memory, metric: memory_gbytes_per_s, floor: 3, peak: 4, "
                         "source: s"),
              HasSubstr("inventory/hardware/l4.yaml:4:5: the limit lacks 'unit': "
                        "'memory_gbytes_per_s' is in GB/s; write unit: \"GB/s\""));
  EXPECT_THAT(read_limit("check: gpu-memroy, metric: x, unit: y"),
              HasSubstr("inventory/hardware/l4.yaml:4:13: no check 'gpu-memroy' (did you mean "
                        "'gpu-memory'?)"));
  for (const char* path : {"l4.yaml", "inventory/hardware/../x.yaml", "inventory/hardware/x",
                           "inventory/hardware/.yaml", "inventory/hardware/a\nb.yaml"}) {
    EXPECT_EQ(read(path, kFile).error_code(), grpc::StatusCode::INVALID_ARGUMENT) << path;
  }
}

}  // namespace
}  // namespace muster::controller
