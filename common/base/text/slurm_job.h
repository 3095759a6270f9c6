// A Slurm job, as it is shown to people.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace muster {

struct SlurmJob {
  std::string id;    // "1234", "1235_7"
  std::string user;  // empty: not known
  std::string name;  // chosen by the submitter; empty: not known
  // Until its time limit ends it. Infinite: it has none, or its limit is not known.
  absl::Duration time_left = absl::InfiniteDuration();
};

// The jobs of each node that has any; a job on several nodes is in each row.
using SlurmJobsByNode = std::map<std::string, std::vector<SlurmJob>>;

// Whether Slurm's programs take it for one job: "1234" or a task of an array, "1235_7". A part of a
// heterogeneous job, "1236+1", is not one.
bool IsJobId(absl::string_view id);

// "job 4 (root, s3)", "jobs 4 (root, s3) and 5 (eve, train)", "jobs 1, 2, 3, 4, 5 and 2 more":
// plain text of one line and bounded length, whatever the jobs are called.
std::string Describe(absl::Span<const SlurmJob> jobs);

// The longest time until all of the jobs have ended by their limits; infinite where one has none,
// or where it is not known.
absl::Duration LongestDrain(absl::Span<const SlurmJob> jobs);

// ", which ends in at most 3h 10m", to follow Describe(): when the limits end all of them.
std::string DescribeEnd(absl::Span<const SlurmJob> jobs);

// "job 4 (root, s3) runs on c[003-004]", "job 4 runs on c001 and jobs 5 and 6 run on c002": each
// job once, bounded as above. Empty if there are none.
std::string DescribeWhere(const SlurmJobsByNode& jobs);

}  // namespace muster
