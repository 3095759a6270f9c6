// The check gpu-dcgm: the vendor's own diagnostics, its verdict beside ours.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/gpu/checks.h"
#include "agent/burnin/gpu/dcgm/diagnostics.h"
#include "agent/burnin/gpu/gpus.h"
#include "agent/burnin/tool.h"

namespace muster::burnin {
namespace {

// How long a level may take, some times what NVIDIA's documentation calls its normal duration.
constexpr absl::Duration kTimeLimits[] = {absl::Minutes(5), absl::Minutes(20), absl::Hours(1),
                                          absl::Hours(6)};
constexpr absl::string_view kNoEngine = "unable to establish a connection";
constexpr size_t kMaxReasons = 3;

std::string UuidOf(const Gpus& gpus, int index) {
  const auto found = std::find_if(gpus.chosen.begin(), gpus.chosen.end(), [&](const Gpu& gpu) {
    return static_cast<int>(gpu.index) == index;
  });
  return found == gpus.chosen.end() ? "" : found->uuid;
}

// What DCGM said of itself, for a run without results.
std::string WhyNot(const sys::ProcessResult& run) {
  if (absl::StrContains(run.output, kNoEngine))
    return "DCGM's service does not run: systemctl enable --now nvidia-dcgm";
  return absl::StrCat("dcgmi ended with status ", run.exit_code, ": ",
                      absl::StrJoin(LastLines(run.output, kMaxReasons), "; "));
}

void Judge(const DcgmReport& report, const Gpus& gpus, CheckResult& result) {
  std::map<DcgmStatus, double> counts;
  std::vector<std::string> skipped, software;
  for (const DcgmTest& test : report.tests) {
    ++counts[test.status];
    if (test.status == DcgmStatus::kSkip) skipped.push_back(Describe(test));
    if (test.status != DcgmStatus::kFail) continue;
    if (IsHardware(test)) {
      AddFault(result, "dcgm_failed", UuidOf(gpus, test.gpu),
               absl::StrCat("DCGM: ", Describe(test)));
    } else {
      software.push_back(Describe(test));
    }
  }
  AddMetric(result, "tests_passed", "", "", counts[DcgmStatus::kPass]);
  AddMetric(result, "tests_failed", "", "", counts[DcgmStatus::kFail]);
  AddMetric(result, "tests_warned", "", "", counts[DcgmStatus::kWarn]);
  AddMetric(result, "tests_skipped", "", "", counts[DcgmStatus::kSkip]);
  if (software.size() > kMaxReasons) software.resize(kMaxReasons);
  if (!software.empty())
    AddUnknown(result,
               absl::StrCat("the node is not as DCGM wants it: ", absl::StrJoin(software, "; ")));
  if (skipped.size() > kMaxReasons) skipped.resize(kMaxReasons);
  if (counts[DcgmStatus::kPass] + counts[DcgmStatus::kFail] + counts[DcgmStatus::kWarn] == 0)
    AddUnknown(result, absl::StrCat("DCGM has run no test",
                                    skipped.empty() ? ""
                                                    : absl::StrCat("; skipped: ",
                                                                   absl::StrJoin(skipped, "; "))));
}

}  // namespace

CheckResult RunGpuDcgm(CheckContext& context) {
  CheckResult result;
  const absl::StatusOr<Gpus> gpus = OpenGpus(context, result);
  if (!gpus.ok()) {
    AddUnknown(result, gpus.status().message());
    return result;
  }
  const auto level = static_cast<size_t>(context.parameters.Number("level"));
  std::vector<std::string> argv = {"dcgmi", "diag", "--run", absl::StrCat(level), "--json"};
  if (gpus->chosen.size() < gpus->count) {
    std::vector<unsigned> indices;
    for (const Gpu& gpu : gpus->chosen) indices.push_back(gpu.index);
    argv.insert(argv.end(), {"-i", absl::StrJoin(indices, ",")});
  }
  context.reporter.SetPhase(absl::StrCat("dcgmi diag, level ", level), std::nullopt);
  const absl::StatusOr<sys::ProcessResult> run =
      RunTool(context, std::move(argv), kTimeLimits[level - 1], "datacenter-gpu-manager");
  if (!run.ok()) {
    AddUnknown(result, run.status().message());
    return result;
  }
  if (run->timed_out || context.reporter.stopping()) {
    AddUnknown(result, "DCGM did not come to an end, and what it has seen is not known");
    return result;
  }
  const absl::StatusOr<DcgmReport> report = ParseDcgm(run->out);
  if (!report.ok()) {
    AddUnknown(result, absl::StrCat(report.status().message(), "; ", WhyNot(*run)));
    return result;
  }
  result.tools.push_back(absl::StrCat("dcgm ", report->version));
  if (!report->error.empty()) AddUnknown(result, absl::StrCat("DCGM: ", report->error));
  Judge(*report, *gpus, result);
  // A DCGM that fails and names nothing that failed is not believed.
  if (!run->ok() && result.faults.empty() && result.outcome == Outcome::kPass)
    AddUnknown(result, absl::StrCat("dcgmi ended with status ", run->exit_code,
                                    ", although no test of it failed"));
  return result;
}

}  // namespace muster::burnin
