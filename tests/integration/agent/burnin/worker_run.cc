#include "tests/integration/agent/burnin/worker_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/sys/process/process.h"
#include "common/sys/process/process_control.h"
#include "tests/fixtures/nvidia_file.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::burnin {
namespace {

constexpr char kLoader[] = "/lib64/ld-linux-x86-64.so.2";

}  // namespace

double WorkerRun::Metric(const std::string& name, const std::string& variant,
                         const std::string& subject) const {
  for (const nlohmann::json& metric : result["metrics"])
    if (metric["name"] == name && metric["variant"] == variant && metric["subject"] == subject)
      return metric["value"];
  return std::numeric_limits<double>::quiet_NaN();
}

std::vector<nlohmann::json> WorkerRun::Faults(const std::string& code) const {
  std::vector<nlohmann::json> faults;
  for (const nlohmann::json& fault : result["faults"])
    if (fault["code"] == code) faults.push_back(fault);
  return faults;
}

WorkerRun RunWorker(const std::string& gpus, std::vector<std::string> arguments,
                    absl::Duration timeout) {
  return RunWorker(FakeDriver(), gpus, std::move(arguments), timeout);
}

WorkerRun RunWorker(const FakeDriver& driver, const std::string& gpus,
                    std::vector<std::string> arguments, absl::Duration timeout) {
  const testing::NvidiaFile file(
      absl::StrCat(R"({"cuda_version":)", driver.cuda_version,
                   driver.cublas.empty() ? "" : absl::StrCat(R"(,"cublas":)", driver.cublas),
                   R"(,"gpus":[)", gpus, "]}"));
  const testing::TempDir without_nccl;
  for (const char* name : {"libcuda.so.1", "libnvidia-ml.so.1"})
    std::filesystem::create_symlink(absl::StrCat(FAKE_NVIDIA, "/", name),
                                    absl::StrCat(without_nccl.path(), "/", name));
  std::string libraries = driver.nccl ? FAKE_NVIDIA : without_nccl.path();
  if (!driver.cublas.empty()) absl::StrAppend(&libraries, ":", FAKE_NVIDIA, "/cublas");
  WorkerRun run;
  // With --json it ends when its input does: the control keeps the input open.
  sys::ProcessControl control;
  sys::ProcessSpec spec = {
      .argv = {MUSTER_BURNIN, "--json"},
      .environment = {{"LD_LIBRARY_PATH", libraries}, {"MUSTER_FAKE_NVIDIA", file.path()}},
      .timeout = timeout};
  // The testing machine may have an NCCL that the loader's cache names.
  if (!driver.nccl) spec.argv.insert(spec.argv.begin(), {kLoader, "--inhibit-cache"});
  spec.argv.insert(spec.argv.end(), arguments.begin(), arguments.end());
  spec.control = &control;
  spec.max_line = size_t{1} << 20;
  spec.on_line = [&run](absl::string_view line) {
    run.lines.emplace_back(line);
    const nlohmann::json json =
        nlohmann::json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("result")) run.result = json["result"];
  };
  sys::RealProcessRunner runner;
  const absl::StatusOr<sys::ProcessResult> ended = runner.Run(spec);
  EXPECT_TRUE(ended.ok()) << ended.status();
  if (!ended.ok()) return run;
  run.exit_code = ended->exit_code;
  run.signal = ended->signal;
  run.timed_out = ended->timed_out;
  if (!run.timed_out) {
    EXPECT_TRUE(run.result.is_object()) << ended->output;
  }
  if (run.result.is_null()) run.result = nlohmann::json::object();
  return run;
}

std::string UuidOf(int gpu) { return absl::StrFormat("GPU-00000000-0000-0000-0000-%012d", gpu); }
std::string SlotOf(int gpu) { return absl::StrFormat("0000:%02x:00.0", 0x3b + gpu); }

}  // namespace muster::burnin
