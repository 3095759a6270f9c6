#include "cli/render/run/drain_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/rollout/rollout_words.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/plain_text.h"
#include "muster/v1/node.pb.h"
#include "muster/v1/rollout.pb.h"

namespace muster::cli {

SlurmJobsByNode JobsByNode(const v1::ListNodeJobsResponse& response) {
  SlurmJobsByNode jobs;
  for (const v1::NodeJobs& node : response.nodes()) {
    for (const v1::SlurmJobInfo& job : node.jobs())
      jobs[node.node()].push_back(
          {job.id(), job.user(), job.name(),
           job.has_seconds_left() ? absl::Seconds(job.seconds_left()) : absl::InfiniteDuration()});
  }
  return jobs;
}

std::vector<std::string> DescribeDrain(const DrainMoment& moment) {
  const std::string all = FoldHostlist(moment.nodes);
  if (!moment.trouble.empty())
    return {absl::StrCat(
        all, ": waits until Slurm starts no job there: ", PlainText(moment.trouble, Lines::kOne))};
  if (!moment.unknown.empty())
    return {absl::StrCat(all, ": waits for Slurm to tell whether jobs are there: ",
                         PlainText(moment.unknown, Lines::kOne))};
  std::vector<std::string> lines;
  for (const auto& [node, jobs] : moment.jobs)
    lines.push_back(absl::StrCat(node, ": waits for ", Describe(jobs), DescribeEnd(jobs)));
  return lines;
}

std::string DrainKey(const DrainMoment& moment) {
  std::string key = absl::StrCat(moment.trouble, "\n", moment.unknown);
  for (const auto& [node, jobs] : moment.jobs)
    absl::StrAppend(&key, "\n", node, ": ",
                    absl::StrJoin(jobs, " ", [](std::string* out, const SlurmJob& job) {
                      absl::StrAppend(out, job.id);
                    }));
  return key;
}

std::string AfterDrain(const std::vector<std::string>& nodes, absl::string_view why) {
  const std::string all = FoldHostlist(nodes);
  const bool is_one = nodes.size() == 1;
  return absl::StrCat(why, all, is_one ? " stays" : " stay",
                      " drained: the same command continues, `muster node resume ", all, "` gives ",
                      is_one ? "it" : "them", " back to Slurm\n");
}

std::string InHandsOf(const v1::Rollout& rollout, const std::vector<std::string>& nodes) {
  for (const v1::RolloutNode& node : rollout.nodes()) {
    if (!IsActive(node.step()) || std::find(nodes.begin(), nodes.end(), node.node()) == nodes.end())
      continue;
    return absl::StrCat("rollout ", rollout.rollout_id(), " is updating ", node.node(),
                        ": wait until it is done with it (muster rollout explain ", node.node(),
                        "), or end it: muster rollout abort ", rollout.rollout_id());
  }
  return "";
}

}  // namespace muster::cli
