#include "cli/render/run/bystander_report.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "cli/render/plain_text.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"

namespace muster::cli {
namespace {

constexpr size_t kShownJobs = 20;

std::string JobList(const std::vector<std::string>& jobs) {
  const std::vector<std::string> shown(jobs.begin(),
                                       jobs.begin() + std::min(jobs.size(), kShownJobs));
  return absl::StrCat(
      jobs.size() == 1 ? "job " : "jobs ", absl::StrJoin(shown, ", "),
      shown.size() < jobs.size() ? absl::StrCat(" and ", jobs.size() - shown.size(), " more") : "");
}

std::string RenderJobs(const Bystanders& before, const Bystanders& after) {
  if (!before.jobs_unknown.empty())
    return absl::StrCat("running jobs: not known before: ", before.jobs_unknown, "\n");
  if (before.jobs.empty()) return "running jobs: there were none\n";
  if (!after.jobs_unknown.empty())
    return absl::StrCat("running ", JobList({before.jobs.begin(), before.jobs.end()}),
                        ": not known whether they still run: ", after.jobs_unknown, "\n");
  std::vector<std::string> running, ended;
  for (const std::string& job : before.jobs)
    (after.jobs.count(job) > 0 ? running : ended).push_back(job);
  std::string text;
  if (!running.empty()) absl::StrAppend(&text, "running ", JobList(running), ": still running\n");
  if (!ended.empty())
    absl::StrAppend(&text, "running ", JobList(ended),
                    ": ended meanwhile; `sacct` or the users' output says how\n");
  return text;
}

struct Verdict {
  absl::string_view words;
  bool (*applies)(const Bystanders::Slurmd& before, const Bystanders::Slurmd& after);
};
// The first that applies. slurmd of 24.11 replaces its own process when it gets a new
// configuration; the start of its unit stays the same.
const Verdict kVerdicts[] = {
    {"not restarted",
     [](const auto& before, const auto& after) {
       return before.pid == after.pid && before.invocation == after.invocation;
     }},
    {"not restarted; it replaced its own process to take the new configuration",
     [](const auto& before, const auto& after) {
       return !before.invocation.empty() && before.invocation == after.invocation;
     }},
    {"RESTARTED meanwhile", [](const auto&, const auto&) { return true; }},
};

std::string RenderSlurmds(const Bystanders& before, const Bystanders& after) {
  std::map<absl::string_view, std::vector<std::string>> nodes;
  std::string unknown;
  for (const auto& [node, was] : before.slurmds) {
    const auto is = after.slurmds.find(node);
    if (is == after.slurmds.end()) {
      const auto why = after.unknown.find(node);
      absl::StrAppend(&unknown, "slurmd of ", node, ": ",
                      why == after.unknown.end() ? "it does NOT RUN any longer"
                                                 : absl::StrCat("not known: ", why->second),
                      "\n");
      continue;
    }
    for (const Verdict& verdict : kVerdicts) {
      if (!verdict.applies(was, is->second)) continue;
      nodes[verdict.words].push_back(node);
      break;
    }
  }
  std::string text;
  for (const Verdict& verdict : kVerdicts) {
    const auto found = nodes.find(verdict.words);
    if (found != nodes.end())
      absl::StrAppend(&text, "slurmd of ", FoldHostlist(found->second), ": ", verdict.words, "\n");
  }
  for (const auto& [node, why] : before.unknown)
    absl::StrAppend(&unknown, "slurmd of ", node, ": not known before: ", why, "\n");
  if (before.unasked > 0)
    absl::StrAppend(&unknown, "slurmd of ", Counted(before.unasked, "other node"),
                    ": not looked at\n");
  return absl::StrCat(text, unknown);
}

}  // namespace

std::string RenderBystanders(const Bystanders& before, const Bystanders& after) {
  return Tame(absl::StrCat(RenderJobs(before, after), RenderSlurmds(before, after)));
}

}  // namespace muster::cli
