// What `squeue --format="%i %N"` prints.
#pragma once

#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "muster/v1/slurm.pb.h"

namespace muster::agent {

// A job a line with the host list that it has; lines without are passed over. Of nodes other than
// `nodes`, and of more jobs than go into a message, nothing is said.
v1::SlurmJobs ParseSlurmJobs(absl::string_view text, const std::set<std::string>& nodes);

}  // namespace muster::agent
