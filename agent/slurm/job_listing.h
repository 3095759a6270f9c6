// What squeue prints of jobs.
#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// Which jobs have which nodes, and whose they are. No word of a user's is in it, so that nobody's
// job can be made up by the name of another.
inline constexpr char kJobsFormat[] = "%i|%N|%u";
// The names alone: a user may put anything into one, newlines and what looks like another line too.
inline constexpr char kJobNamesFormat[] = "%i|%j";

// `text` has kJobsFormat; lines without a host list are passed over. Of nodes other than `nodes`,
// and of more jobs than go into a message, nothing is said.
v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes);

// `text` has kJobNamesFormat. Names the jobs that have exactly one line in it, in plain text of at
// most 128 bytes; an id that comes again was written by a user, so its job stays without a name.
void AddJobNames(absl::string_view text, v1::SlurmJobs& jobs);

}  // namespace muster::agent
