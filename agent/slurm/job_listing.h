// Parses squeue's listing of jobs.
#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// Which jobs have which nodes, whose they are, and how long they may still run. It contains no text
// from users, so that nobody can fake a job by the name of another.
inline constexpr char kJobsFormat[] = "%i|%N|%L|%u";
// The names alone: a user may put anything into a name, even newlines and text that looks like
// another line.
inline constexpr char kJobNamesFormat[] = "%i|%j";

// `text` has kJobsFormat; lines without a host list are skipped. Leaves out nodes other than
// `nodes`, and jobs beyond the limit of a message.
v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes);

// `text` has kJobNamesFormat. Names the jobs that have exactly one line in it, in plain text of at
// most 128 bytes; a repeated id was written by a user, so its job stays without a name.
void AddJobNames(absl::string_view text, v1::SlurmJobs& jobs);

}  // namespace muster::agent
