#include "cli/render/rollout/rollout_forecast.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/report/bundle_report.h"
#include "cli/render/rollout/rollout_words.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {
namespace {

constexpr size_t kMaxJobName = 40;

std::string ForecastNodes(const v1::PreviewRolloutResponse& preview) {
  std::vector<std::string> names;
  for (const v1::RolloutForecast& node : preview.nodes()) names.push_back(node.node());
  return FoldHostlist(std::move(names));
}

std::string OrNone(absl::string_view text) { return text.empty() ? "none" : std::string(text); }

std::string DescribeRollback(const v1::Rollout& rollout) {
  return rollout.previous_bundle_sha256().empty()
             ? "impossible: no other bundle has been applied whole with this playbook before"
             : DescribeWayBack(rollout);
}

bool HasJobs(const v1::PreviewRolloutResponse& preview) {
  return std::any_of(preview.nodes().begin(), preview.nodes().end(),
                     [](const v1::RolloutForecast& node) { return node.jobs_size() > 0; });
}

std::string WorstDrain(const v1::PreviewRolloutResponse& preview) {
  if (!preview.jobs_unknown().empty())
    return absl::StrCat("not known: ", PlainText(preview.jobs_unknown(), Lines::kOne));
  if (!HasJobs(preview)) return "at once: no jobs are in the way";
  if (!preview.has_longest_drain()) return "no known end: jobs without a time limit are in the way";
  return absl::StrCat("the last job in the way ends within ",
                      HumanDuration(ToDuration(preview.longest_drain())));
}

// How long all of it takes, and on what assumptions.
std::string WholeTime(const v1::PreviewRolloutResponse& preview) {
  if (!preview.has_estimate()) return "";
  const v1::RolloutEstimate& estimate = preview.estimate();
  const std::string left_out =
      estimate.left_out() == 0
          ? ""
          : absl::StrCat("; ", Counted(estimate.left_out(), "node"), " would be left out");
  if (!estimate.has_total())
    return absl::StrCat("no known end: ", PlainText(estimate.endless(), Lines::kOne), left_out);
  const std::string total = HumanDuration(ToDuration(estimate.total()));
  return absl::StrCat("at most ", total,
                      estimate.has_node_update()
                          ? absl::StrCat(", if the update of a node takes ",
                                         HumanDuration(ToDuration(estimate.node_update())),
                                         " as in ", estimate.measured_in(), ",")
                          : " and the updates of the nodes, which were never measured, if",
                      " each node is as busy as now when its turn comes, and none fails", left_out);
}

std::string Limits(const v1::PreviewRolloutResponse& preview) {
  const v1::Rollout& rollout = preview.rollout();
  const v1::CreateRolloutRequest& request = rollout.request();
  std::string text;
  const auto line = [&text](const char* key, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, absl::StrFormat("%-12s", key), value, "\n");
  };
  line("playbook",
       absl::StrCat(request.playbook(), " of bundle ", ShortDigest(request.bundle_sha256()),
                    request.tags().empty()
                        ? ""
                        : absl::StrCat(", tags ", absl::StrJoin(request.tags(), ", "))));
  line("nodes", absl::StrCat(Counted(static_cast<size_t>(preview.nodes_size()), "node"),
                             " of cluster ", preview.cluster(), ", ", ForecastNodes(preview)));
  line("left out",
       rollout.left_out().empty() ? "" : absl::StrCat(rollout.left_out(), ": not workers"));
  line("stack", request.stack());
  line("suite", OrNone(request.suite()));
  line("budgets", DescribeBudgets(rollout));
  line("windows", absl::StrJoin(request.windows(), ", "));
  line("soak", request.has_soak()
                   ? absl::StrCat(HumanDuration(ToDuration(request.soak())), " after each wave")
                   : "");
  line("draining", DescribeDrainLimit(request));
  line("reboots", DescribeReboots(request));
  line("jobs", WorstDrain(preview));
  line("takes", WholeTime(preview));
  line("rollback", DescribeRollback(rollout));
  return text;
}

// "in service", "drained by root: bad disk, not connected".
std::string StandingNow(const v1::RolloutForecast& node) {
  return absl::StrCat(node.service().empty() ? "not in Slurm" : node.service(),
                      node.connected() ? "" : ", not connected");
}

std::string JobsOn(const v1::RolloutForecast& node) {
  if (node.jobs().empty()) return "";
  return absl::StrCat(Describe(ToSlurmJobs(node.jobs())),
                      node.has_drain()
                          ? absl::StrCat(", at most ", HumanDuration(ToDuration(node.drain())))
                          : ", no known end");
}

// A wave's nodes that are in the same state, with the same jobs.
struct ForecastGroup {
  std::string standing, jobs;
  std::vector<std::string> nodes;
};

std::vector<ForecastGroup> ForecastGroups(const v1::PreviewRolloutResponse& preview,
                                          uint32_t wave) {
  std::vector<ForecastGroup> groups;
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (const v1::RolloutForecast& node : preview.nodes()) {
    if (node.wave() != wave) continue;
    const auto key = std::make_pair(StandingNow(node), JobsOn(node));
    const auto place = places.emplace(key, groups.size());
    if (place.second) groups.push_back({key.first, key.second, {}});
    groups[place.first->second].nodes.push_back(node.node());
  }
  return groups;
}

std::string Waves(const v1::PreviewRolloutResponse& preview) {
  std::set<uint32_t> waves;
  for (const v1::RolloutForecast& node : preview.nodes()) waves.insert(node.wave());
  Table table({"WAVE", "NODES", "NOW", "JOBS IN THE WAY"});
  for (const uint32_t wave : waves) {
    std::string name = WaveName(preview.rollout().request(), wave);
    for (ForecastGroup& group : ForecastGroups(preview, wave)) {
      table.AddRow({std::exchange(name, ""), FoldHostlist(std::move(group.nodes)),
                    PlainText(group.standing, Lines::kOne), group.jobs});
    }
  }
  return table.ToString();
}

struct JobInTheWay {
  SlurmJob job;
  std::vector<std::string> nodes;
};

// Each job once; those that take longest first, and of equal ones the lower id.
std::vector<JobInTheWay> JobsInTheWay(const v1::PreviewRolloutResponse& preview) {
  std::map<std::string, JobInTheWay> by_id;
  for (const v1::RolloutForecast& node : preview.nodes()) {
    for (SlurmJob& job : ToSlurmJobs(node.jobs())) {
      JobInTheWay& entry = by_id[job.id];
      entry.nodes.push_back(node.node());
      // A node that tells more than the others does not shorten what they tell.
      if (entry.nodes.size() == 1 || job.time_left > entry.job.time_left)
        entry.job = std::move(job);
    }
  }
  std::vector<JobInTheWay> jobs;
  for (auto& [id, entry] : by_id) jobs.push_back(std::move(entry));
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobInTheWay& a, const JobInTheWay& b) {
    return a.job.time_left > b.job.time_left;
  });
  return jobs;
}

std::string Jobs(const v1::PreviewRolloutResponse& preview) {
  std::vector<JobInTheWay> jobs = JobsInTheWay(preview);
  if (jobs.empty()) return "";
  Table table({"JOB", "USER", "NAME", "TIME LEFT", "NODES"});
  for (size_t i = 0; i < std::min(kMaxForecastJobs, jobs.size()); ++i) {
    const SlurmJob& job = jobs[i].job;
    table.AddRow({PlainText(job.id, Lines::kOne, kMaxJobName),
                  PlainText(job.user, Lines::kOne, kMaxJobName),
                  PlainText(job.name, Lines::kOne, kMaxJobName),
                  job.time_left == absl::InfiniteDuration() ? "no known limit"
                                                            : HumanDuration(job.time_left),
                  FoldHostlist(std::move(jobs[i].nodes))});
  }
  return absl::StrCat("\n", table.ToString(),
                      jobs.size() > kMaxForecastJobs
                          ? absl::StrCat("… and ", jobs.size() - kMaxForecastJobs,
                                         " more jobs; -o json has all of them\n")
                          : "");
}

}  // namespace

std::string RenderForecast(const v1::PreviewRolloutResponse& preview) {
  return absl::StrCat(Limits(preview), "\n", Waves(preview), Jobs(preview));
}

std::string UpdateQuestion(const v1::PreviewRolloutResponse& preview) {
  return absl::StrCat("Update ", Counted(static_cast<size_t>(preview.nodes_size()), "node"),
                      " of cluster ", preview.cluster(), ", ", ForecastNodes(preview), ", at most ",
                      preview.rollout().max_unavailable(), " at once?");
}

}  // namespace muster::cli
