#include "common/base/text/slurm_job.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/base/text/plain_text.h"

namespace muster {
namespace {

// The most jobs that one text names.
constexpr size_t kMaxNamed = 5;
constexpr size_t kMaxIdBytes = 32;
constexpr size_t kMaxIdDigits = 10;
constexpr size_t kMaxUserBytes = 32;
constexpr size_t kMaxNameBytes = 40;
// Limit of a host list: one that cannot be folded is as long as the cluster is large.
constexpr size_t kMaxNodesBytes = 80;

// "4 (root, s3)"
std::string Name(const SlurmJob& job) {
  std::vector<std::string> known;
  if (!job.user.empty()) known.push_back(PlainText(job.user, Lines::kOne, kMaxUserBytes));
  if (!job.name.empty()) known.push_back(PlainText(job.name, Lines::kOne, kMaxNameBytes));
  return absl::StrCat(PlainText(job.id, Lines::kOne, kMaxIdBytes),
                      known.empty() ? "" : absl::StrCat(" (", absl::StrJoin(known, ", "), ")"));
}

// "a", "a and b", "a, b and c".
std::string Enumerate(std::vector<std::string> parts) {
  if (parts.size() < 2) return absl::StrJoin(parts, "");
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return absl::StrCat(absl::StrJoin(parts, ", "), " and ", last);
}

std::string Describe(absl::Span<const SlurmJob> jobs, size_t max_named) {
  std::vector<std::string> parts;
  for (const SlurmJob& job : jobs.subspan(0, max_named)) parts.push_back(Name(job));
  if (jobs.size() > max_named) parts.push_back(absl::StrCat(jobs.size() - max_named, " more"));
  return absl::StrCat(jobs.size() == 1 ? "job " : "jobs ", Enumerate(std::move(parts)));
}

std::string DescribeNodes(const std::set<std::string>& nodes) {
  std::string folded = FoldHostlist({nodes.begin(), nodes.end()});
  return folded.size() <= kMaxNodesBytes ? folded : Counted(nodes.size(), "node");
}

absl::string_view Verb(size_t jobs) { return jobs == 1 ? " runs on " : " run on "; }

// Jobs that have the same nodes.
struct Group {
  std::set<std::string> nodes;
  std::vector<SlurmJob> jobs;
};

// In the order in which the jobs occur.
std::vector<Group> GroupByNodes(const SlurmJobsByNode& jobs) {
  std::map<std::string, std::set<std::string>> nodes_of;
  for (const auto& [node, of_node] : jobs) {
    for (const SlurmJob& job : of_node) nodes_of[job.id].insert(node);
  }
  std::vector<Group> groups;
  std::map<std::set<std::string>, size_t> places;
  for (const auto& [node, of_node] : jobs) {
    for (const SlurmJob& job : of_node) {
      const auto found = nodes_of.find(job.id);
      if (found == nodes_of.end()) continue;  // it is in a group already
      const auto place = places.emplace(found->second, groups.size());
      if (place.second) groups.push_back({found->second, {}});
      groups[place.first->second].jobs.push_back(job);
      nodes_of.erase(found);
    }
  }
  return groups;
}

}  // namespace

bool IsJobId(absl::string_view id) {
  const std::vector<absl::string_view> parts = absl::StrSplit(id, '_');
  return parts.size() <= 2 && std::all_of(parts.begin(), parts.end(), [](absl::string_view part) {
           return !part.empty() && part.size() <= kMaxIdDigits &&
                  std::all_of(part.begin(), part.end(),
                              [](unsigned char c) { return absl::ascii_isdigit(c); });
         });
}

std::string Describe(absl::Span<const SlurmJob> jobs) { return Describe(jobs, kMaxNamed); }

absl::Duration LongestDrain(absl::Span<const SlurmJob> jobs) {
  absl::Duration longest = absl::ZeroDuration();
  for (const SlurmJob& job : jobs) longest = std::max(longest, job.time_left);
  return longest;
}

std::string DescribeEnd(absl::Span<const SlurmJob> jobs) {
  const absl::Duration longest = LongestDrain(jobs);
  const bool is_one = jobs.size() == 1;
  if (longest == absl::InfiniteDuration()) {
    return is_one ? ", whose time limit is not known or unlimited"
                  : ", one of which has a time limit that is not known or unlimited";
  }
  // "At most" has to hold for what is cut off, too.
  const absl::Duration unit = longest < absl::Hours(1)    ? absl::Seconds(1)
                              : longest < absl::Hours(24) ? absl::Minutes(1)
                                                          : absl::Hours(1);
  return absl::StrCat(is_one ? ", which ends" : ", which end", " in at most ",
                      HumanDuration(absl::Ceil(longest, unit)));
}

std::string DescribeWhere(const SlurmJobsByNode& jobs) {
  std::vector<std::string> parts;
  size_t left = kMaxNamed;
  size_t more = 0;
  std::set<std::string> elsewhere;
  for (const Group& group : GroupByNodes(jobs)) {
    if (left == 0) {
      more += group.jobs.size();
      elsewhere.insert(group.nodes.begin(), group.nodes.end());
      continue;
    }
    parts.push_back(absl::StrCat(Describe(group.jobs, left), Verb(group.jobs.size()),
                                 DescribeNodes(group.nodes)));
    left -= std::min(left, group.jobs.size());
  }
  if (more > 0) parts.push_back(absl::StrCat(more, " more", Verb(more), DescribeNodes(elsewhere)));
  return Enumerate(std::move(parts));
}

}  // namespace muster
