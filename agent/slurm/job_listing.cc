#include "agent/slurm/job_listing.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/hostlist.h"
#include "common/base/utf8.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxJobs = 4096;
constexpr size_t kMaxJobId = 64;

}  // namespace

v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes) {
  std::map<std::string, v1::SlurmNodeJobs> by_node;
  size_t count = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipWhitespace());
    if (words.size() != 2) continue;
    const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(words[1]);
    if (!names.ok()) continue;
    for (const std::string& name : *names) {
      if (nodes.count(name) == 0 || count == kMaxJobs) continue;
      by_node[name].add_job_ids(ValidUtf8(words[0], kMaxJobId));
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

}  // namespace muster::agent
