#include "agent/burnin/system/stress.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/container.h"
#include "agent/burnin/tool.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

// Column of "bogo ops/s (real time)" after "stress-ng: metrc: [PID] STRESSOR".
constexpr size_t kRateColumn = 5;
constexpr absl::Duration kStressGrace = absl::Seconds(60);
constexpr absl::Duration kVersionTimeout = absl::Seconds(10);

struct Stressor {
  const char* name;
  const char* metric;
  const char* fault;
  std::vector<std::string> options;
};

constexpr double kGib = 1 << 30;
constexpr char kDropCaches[] = "/proc/sys/vm/drop_caches";
constexpr char kMemoryInfo[] = "/proc/meminfo";
// The least part of what was asked for, if all memory were free, whose test says something.
constexpr double kLeastTested = 0.5;

// Printed by 0.15 and later, with --verbose, for a worker that was killed, and for any that ended
// early.
constexpr absl::string_view kKilled = "killed by OOM killer";
constexpr absl::string_view kEndedEarly = "finished prematurely";

std::vector<std::string> LinesWith(absl::string_view output, absl::string_view words) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(output, '\n'))
    if (absl::StartsWith(line, "stress-ng: ") && absl::StrContains(line, words))
      lines.emplace_back(line);
  return lines;
}

// Versions count bogus operations differently: each has its own history. "stress-ng" where it does
// not say which it is.
std::string StressTool(CheckContext& context) {
  const auto run = RunTool(context, {"stress-ng", "--version"}, kVersionTimeout, "stress-ng");
  const std::string version = run.ok() ? StressVersion(run->output) : "";
  return version.empty() ? "stress-ng" : absl::StrCat("stress-ng ", version);
}

CheckResult Run(CheckContext& context, const Stressor& stressor) {
  const absl::Duration duration = absl::Seconds(context.parameters.Number("duration"));
  std::vector<std::string> argv = {"stress-ng"};
  argv.insert(argv.end(), stressor.options.begin(), stressor.options.end());
  for (const std::string& option :
       {std::string("--verify"), std::string("--metrics-brief"),
        // A worker that is killed for lack of memory would otherwise be restarted silently, and it
        // is not known what it was testing.
        std::string("--oomable"), std::string("--verbose"), std::string("--timeout"),
        absl::StrCat(absl::ToInt64Seconds(duration), "s")})
    argv.push_back(option);
  context.reporter.SetPhase(absl::StrCat("stress-ng ", stressor.name), std::nullopt);
  const auto run = RunTool(context, std::move(argv), duration + kStressGrace, "stress-ng");
  if (!run.ok()) return Unknown(std::string(run.status().message()));
  CheckResult result;
  result.tools.push_back(StressTool(context));
  const std::optional<double> rate = StressRate(run->output, stressor.name);
  if (rate.has_value()) AddMetric(result, stressor.metric, "", "", *rate);
  std::vector<std::string> failures = StressFailures(run->output);
  if (!failures.empty()) {
    const std::string message =
        absl::StrCat("stress-ng computed something wrong: ", failures.front());
    AddFault(result, stressor.fault, "", message, std::move(failures));
  } else if (const size_t killed = StressOomKills(run->output); killed > 0) {
    AddUnknown(result, absl::StrCat("memory ran out: the kernel killed ", Counted(killed, "worker"),
                                    " of stress-ng, and it is unknown what they tested; what else "
                                    "uses memory on this node?"));
  } else if (const std::vector<std::string> early = LinesWith(run->output, kEndedEarly);
             !early.empty()) {
    AddUnknown(result, absl::StrCat("stress-ng ended early: ", early.front()));
  } else if (!run->ok()) {
    AddUnknown(result,
               absl::StrCat("stress-ng failed: ", absl::StrJoin(LastLines(run->output, 3), "; ")));
  } else if (!rate.has_value()) {
    AddUnknown(result, "stress-ng did not report its rate");
  }
  return result;
}

}  // namespace

std::optional<double> StressRate(absl::string_view output, absl::string_view stressor) {
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const size_t bracket = line.find("] ");
    if (!absl::StartsWith(line, "stress-ng: ") || bracket == absl::string_view::npos) continue;
    const std::vector<absl::string_view> words =
        absl::StrSplit(line.substr(bracket + 2), ' ', absl::SkipEmpty());
    double rate = 0;
    if (words.size() > kRateColumn && words.front() == stressor &&
        absl::SimpleAtod(words[kRateColumn], &rate))
      return rate;
  }
  return std::nullopt;
}

std::string StressVersion(absl::string_view output) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(output, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return words.size() > 2 && words[0] == "stress-ng," && words[1] == "version"
             ? std::string(words[2])
             : "";
}

std::vector<std::string> StressFailures(absl::string_view output) {
  std::vector<std::string> failures;
  for (const absl::string_view line : absl::StrSplit(output, '\n'))
    if (absl::StartsWith(line, "stress-ng: fail:")) failures.emplace_back(line);
  return failures;
}

size_t StressOomKills(absl::string_view output) { return LinesWith(output, kKilled).size(); }

CheckResult RunCpuStress(CheckContext& context) {
  return Run(context,
             {"cpu", "cpu_ops_per_s", "wrong_result", {"--cpu", "0", "--cpu-method", "all"}});
}

std::optional<MemorySize> ParseMemorySize(absl::string_view meminfo) {
  MemorySize size;
  for (const absl::string_view line : absl::StrSplit(meminfo, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    double kib = 0;
    if (words.size() < 2 || !absl::SimpleAtod(words[1], &kib)) continue;
    if (words[0] == "MemTotal:") size.total_bytes = kib * 1024;
    if (words[0] == "MemFree:") size.free_bytes = kib * 1024;
  }
  if (!(size.total_bytes > 0)) return std::nullopt;
  return size;
}

CheckResult RunMemoryStress(CheckContext& context) {
  const double fraction = context.parameters.Number("fraction");
  const bool in_container = InContainer(context.files);
  // stress-ng takes only free memory, and files that were read fill memory in time. Where the
  // kernel refuses, too little may be free, which is reported below.
  if (!in_container) context.files.WriteToKernel(kDropCaches, "1").IgnoreError();
  const std::optional<MemorySize> size =
      ParseMemorySize(context.files.Read(kMemoryInfo).value_or(""));
  CheckResult result =
      Run(context,
          {"vm",
           "memory_ops_per_s",
           "memory_mismatch",
           {"--vm", "0", "--vm-bytes", absl::StrCat(100 * fraction, "%"), "--vm-method", "all"}});
  if (!size.has_value() || result.tools.empty()) return result;
  const double tested = fraction * size->free_bytes;
  AddMetric(result, "memory_tested_bytes", "", "", tested);
  if (!in_container && tested < kLeastTested * fraction * size->total_bytes)
    AddUnknown(result,
               absl::StrFormat("only %.1f of %.1f GiB of memory were free, and only these can be "
                               "tested: what uses memory on this node? Reserved huge pages, files "
                               "in a tmpfs and the cache of ZFS count, too",
                               size->free_bytes / kGib, size->total_bytes / kGib));
  return result;
}

}  // namespace muster::burnin
