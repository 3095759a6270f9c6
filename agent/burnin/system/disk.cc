#include "agent/burnin/system/disk.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/tool.h"

namespace muster::burnin {
namespace {

using Json = nlohmann::json;

struct Pattern {
  const char* rw;         // of fio
  const char* direction;  // in its output
  const char* block;
  const char* variant;
};
constexpr Pattern kPatterns[] = {
    {"write", "write", "1M", "sequential_write"},
    {"read", "read", "1M", "sequential_read"},
    {"randwrite", "write", "4k", "random_write"},
    {"randread", "read", "4k", "random_read"},
};
constexpr absl::Duration kGrace = absl::Minutes(5);  // for laying out the file
// What the block layer answers for a disk that cannot read or write, or whose data is damaged
// (blk_errors[] in block/blk-core.c); ENODATA is an unreadable medium.
constexpr int kDiskErrors[] = {EIO, ENODATA, EREMOTEIO, EILSEQ, ENOLINK, ETIMEDOUT};

double NumberAt(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  return json.contains(pointer) && json.at(pointer).is_number() ? json.at(pointer).get<double>()
                                                                : 0;
}

// fio may print remarks before its JSON.
Json ParseOutput(absl::string_view text) {
  const size_t begin = text.find('{');
  if (begin == absl::string_view::npos) return Json();
  return Json::parse(text.begin() + begin, text.end(), nullptr, /*allow_exceptions=*/false);
}

// fio's messages for people, which end in JSON even when it fails.
std::string LastWords(const std::string& output) {
  std::vector<std::string> said;
  for (const absl::string_view line : absl::StrSplit(output, '\n'))
    if (absl::StartsWith(line, "fio: ")) said.emplace_back(line);
  if (said.empty()) said = LastLines(output, 3);
  // One line reports each request that failed.
  return absl::StrJoin(said.end() - std::min<ptrdiff_t>(3, std::ssize(said)), said.end(), "; ");
}

absl::StatusOr<FioRates> Measure(CheckContext& context, const std::string& path,
                                 const Pattern& pattern, absl::Duration duration) {
  // --thread: a job that is a process would outlive a fio that is killed.
  const auto run = RunTool(
      context,
      {"fio", "--name=muster-burnin", absl::StrCat("--directory=", path),
       absl::StrCat("--rw=", pattern.rw), absl::StrCat("--bs=", pattern.block),
       absl::StrCat("--size=", static_cast<int64_t>(context.parameters.Number("size"))),
       absl::StrCat("--runtime=", absl::ToInt64Seconds(duration)), "--time_based", "--direct=1",
       "--ioengine=libaio", "--iodepth=16", "--thread", "--unlink=1", "--output-format=json"},
      duration + kGrace, "fio");
  if (!run.ok()) return run.status();
  if (run->ok()) return ParseFio(run->out, pattern.direction);
  const std::string message = absl::StrCat("fio on ", path, ": ", LastWords(run->output));
  return absl::IsDataLoss(ParseFio(run->out, pattern.direction).status())
             ? absl::DataLossError(message)
             : absl::InternalError(message);
}

}  // namespace

absl::StatusOr<FioRates> ParseFio(absl::string_view json, const char* direction) {
  const Json output = ParseOutput(json);
  const Json::json_pointer job_at("/jobs/0");
  if (!output.is_object() || !output.contains(job_at) || !output.at(job_at).is_object() ||
      !output.at(job_at).contains(direction))
    return absl::InvalidArgumentError("fio's output has no job");
  const Json& job = output.at(job_at);
  const double error = NumberAt(job, "/error");
  if (std::find(std::begin(kDiskErrors), std::end(kDiskErrors), error) != std::end(kDiskErrors))
    return absl::DataLossError(
        absl::StrCat("fio's job ended with error ", error, ": the disk could not read or write"));
  if (error != 0)
    return absl::InvalidArgumentError(absl::StrCat("fio's job ended with error ", error));
  const Json& rates = job.at(direction);
  return FioRates{.bytes_per_s = NumberAt(rates, "/bw_bytes"),
                  .iops = NumberAt(rates, "/iops"),
                  .latency_p99_s = NumberAt(rates, "/clat_ns/percentile/99.000000") * 1e-9};
}

CheckResult RunDiskCheck(CheckContext& context) {
  const std::vector<std::string> paths = context.parameters.Words("paths");
  if (paths.empty()) return Skipped("no file systems are specified (parameter paths)");
  const absl::Duration duration = absl::Seconds(context.parameters.Number("duration"));
  CheckResult result;
  result.tools.push_back("fio");
  double done = 0;
  const double steps = static_cast<double>(paths.size() * std::size(kPatterns));
  for (const std::string& path : paths) {
    result.subjects.push_back({.id = path, .kind = "file_system"});
    for (const Pattern& pattern : kPatterns) {
      if (context.reporter.stopping()) return result;
      context.reporter.SetPhase(absl::StrCat(path, " ", pattern.variant), done++ / steps);
      const absl::StatusOr<FioRates> rates = Measure(context, path, pattern, duration);
      if (absl::IsNotFound(rates.status())) return Unknown(std::string(rates.status().message()));
      if (absl::IsDataLoss(rates.status())) {
        AddFault(result, "io_error", path,
                 absl::StrCat("reading or writing failed: check the disk and its cables; ",
                              rates.status().message()));
        break;
      }
      if (!rates.ok()) {
        AddUnknown(result, rates.status().message());
        break;
      }
      AddMetric(result, "mbytes_per_s", pattern.variant, path, rates->bytes_per_s * 1e-6);
      AddMetric(result, "iops", pattern.variant, path, rates->iops);
      AddMetric(result, "latency_p99_ms", pattern.variant, path, rates->latency_p99_s * 1e3);
    }
  }
  return result;
}

}  // namespace muster::burnin
