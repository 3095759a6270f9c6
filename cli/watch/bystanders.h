// Looks at the nodes that a change does not concern.
#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "cli/render/run/bystander_report.h"

namespace muster::cli {

class Connection;

// More nodes than this are not asked for their facts: those with jobs come first.
inline constexpr size_t kAskedBystanders = 64;

// The running jobs and slurmd of all connected compute nodes but `concerned`. Blocks: a fraction of
// a second for every two nodes. With `only`, asks exactly those nodes: the ones of an earlier look.
absl::StatusOr<Bystanders> LookAtBystanders(const Connection& connection,
                                            const std::set<std::string>& concerned,
                                            const std::set<std::string>& only = {});

}  // namespace muster::cli
