// What nodes that are being drained wait for, as text for a terminal. Pure.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/text/slurm_job.h"

namespace muster::v1 {
class ListNodeJobsResponse;
class Rollout;
}  // namespace muster::v1

namespace muster::cli {

SlurmJobsByNode JobsByNode(const v1::ListNodeJobsResponse& response);

// One moment of a drain.
struct DrainMoment {
  std::vector<std::string> nodes;  // that are waited for
  SlurmJobsByNode jobs;
  std::string unknown;  // why the jobs are not known; empty: they are
  std::string trouble;  // why Slurm may still start jobs on them; empty: it does not

  bool is_idle() const { return jobs.empty() && unknown.empty() && trouble.empty(); }
};

// A line for each node that has jobs, or one for all of them: "c003: waits for job 4711 (ann,
// train), which ends in at most 3h 10m".
std::vector<std::string> DescribeDrain(const DrainMoment& moment);
// Equal for two moments of which a log needs only the first: times that pass are no news.
std::string DrainKey(const DrainMoment& moment);

// How to go on with nodes whose wait has ended before they were idle.
std::string AfterDrain(const std::vector<std::string>& nodes, absl::string_view why);

// FailedPrecondition-like words on the first of `nodes` that the rollout is updating now; empty:
// none.
std::string InHandsOf(const v1::Rollout& rollout, const std::vector<std::string>& nodes);

}  // namespace muster::cli
