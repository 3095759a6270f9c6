#include "agent/slurm/job_listing.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "common/base/text/utf8.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxJobs = 4096;
constexpr size_t kMaxJobId = 64;
constexpr size_t kMaxUser = 64;
constexpr size_t kMaxJobName = 128;
constexpr uint64_t kMaxDays = 100'000;

// "1-02:03:04", "02:03:04", "03:04", as squeue writes the time left. nullopt: "UNLIMITED",
// "NOT_SET", "INVALID" or anything else that is not a time.
std::optional<uint64_t> ParseTimeLeft(absl::string_view text) {
  uint64_t days = 0;
  const bool has_days = absl::StrContains(text, '-');
  if (has_days) {
    const std::vector<absl::string_view> halves = absl::StrSplit(text, absl::MaxSplits('-', 1));
    if (!absl::SimpleAtoi(halves[0], &days) || days > kMaxDays) return std::nullopt;
    text = halves[1];
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  if (parts.size() > 3 || parts.size() < (has_days ? 3 : 2)) return std::nullopt;
  uint64_t seconds = 0;
  for (const absl::string_view part : parts) {
    uint64_t value = 0;
    if (part.size() > 2 || !absl::SimpleAtoi(part, &value)) return std::nullopt;
    seconds = seconds * 60 + value;
  }
  return days * 24 * 60 * 60 + seconds;
}

// The states in which a job keeps its nodes until something ends it, and in which Slurm requeues
// it.
constexpr absl::string_view kLastingStates[] = {"CONFIGURING", "RUNNING", "STOPPED", "SUSPENDED"};

// The name on a job's only line; nullopt: it has several.
using NamesById = absl::flat_hash_map<absl::string_view, std::optional<absl::string_view>>;

NamesById ParseNames(absl::string_view text) {
  NamesById names;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const size_t end_of_id = line.find('|');
    if (end_of_id == absl::string_view::npos) continue;
    const auto added = names.emplace(line.substr(0, end_of_id), line.substr(end_of_id + 1));
    if (!added.second) added.first->second.reset();
  }
  return names;
}

}  // namespace

v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes) {
  std::map<std::string, v1::SlurmNodeJobs> by_node;
  size_t count = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, absl::MaxSplits('|', 3));
    if (columns.size() != 4 || columns[0].empty() || columns[1].empty()) continue;
    const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(columns[1]);
    if (!names.ok()) continue;
    v1::SlurmJobInfo job;
    job.set_id(ValidUtf8(columns[0], kMaxJobId));
    if (const auto left = ParseTimeLeft(columns[2])) job.set_seconds_left(*left);
    job.set_user(PlainText(columns[3], Lines::kOne, kMaxUser));
    for (const std::string& name : *names) {
      if (nodes.count(name) == 0) continue;
      // Beyond the limit a node's first job still counts: a node without one is taken to be idle.
      v1::SlurmNodeJobs& of_node = by_node[name];
      if (count >= kMaxJobs && of_node.jobs_size() > 0) continue;
      *of_node.add_jobs() = job;
      ++count;
    }
  }
  v1::SlurmJobs jobs;
  for (auto& [name, of_node] : by_node) {
    of_node.set_node(name);
    *jobs.add_nodes() = std::move(of_node);
  }
  return jobs;
}

std::map<std::string, JobTraits> ParseJobTraits(absl::string_view text) {
  std::map<std::string, JobTraits> jobs;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> columns = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (columns.size() != 4) continue;
    JobTraits& job = jobs[std::string(columns[0])];
    job.is_ending = std::find(std::begin(kLastingStates), std::end(kLastingStates), columns[1]) ==
                    std::end(kLastingStates);
    job.may_requeue = columns[2] == "1";
    job.is_batch = columns[3] == "1";
  }
  return jobs;
}

std::string WhyNotRequeued(const JobTraits& job) {
  if (!job.is_batch) return "it is not a batch job";
  if (!job.may_requeue)
    return "its user or slurm.conf does not allow it (--no-requeue, JobRequeue)";
  return "";
}

void AddJobNames(absl::string_view text, v1::SlurmJobs& jobs) {
  const NamesById names = ParseNames(text);
  for (v1::SlurmNodeJobs& node : *jobs.mutable_nodes()) {
    for (v1::SlurmJobInfo& job : *node.mutable_jobs()) {
      const auto found = names.find(job.id());
      if (found == names.end() || !found->second.has_value()) continue;
      job.set_name(PlainText(*found->second, Lines::kOne, kMaxJobName));
    }
  }
}

}  // namespace muster::agent
