// Parses squeue's listing of jobs.
#pragma once

#include <map>
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

// How jobs may be dealt with: words of Slurm alone, in columns that are wide enough for them.
inline constexpr char kJobTraitsFormat[] = "JobArrayID:64,State:32,Requeue:16,BatchFlag:16";

struct JobTraits {
  bool is_ending = false;    // it gives its nodes back by itself, or has been requeued already
  bool may_requeue = false;  // its user and slurm.conf allow it
  bool is_batch = false;     // Slurm can start it anew
};

// `text` has kJobTraitsFormat; by job id. Lines in another form are skipped.
std::map<std::string, JobTraits> ParseJobTraits(absl::string_view text);

// Why Slurm would not put the job back into the queue; "": it would.
std::string WhyNotRequeued(const JobTraits& job);

// `text` has kJobsFormat; lines without a host list are skipped. Leaves out nodes other than
// `nodes`, and jobs beyond the limit of a message.
v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes);

// `text` has kJobNamesFormat. Names the jobs that have exactly one line in it, in plain text of at
// most 128 bytes; a repeated id was written by a user, so its job stays without a name.
void AddJobNames(absl::string_view text, v1::SlurmJobs& jobs);

}  // namespace muster::agent
