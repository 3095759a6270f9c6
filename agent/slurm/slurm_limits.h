// The limits and priorities of Slurm's accounting, by the names that sacctmgr has for them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::agent {

enum class LimitHolder { kQos, kAccount, kUser };

// Name → value in one fixed form, so that two limits are the same if and only if their texts are.
// Without limits that are not set, and without those at the value that they have when not set.
using SlurmLimits = std::map<std::string, std::string>;

// How the value of a limit is written and compared.
enum class LimitKind {
  kNumber,
  kShares,   // a number or "parent"
  kFactor,   // 0.5
  kMinutes,  // "90", "1-12:00:00"; whole minutes
  kSeconds,  // "300", "00:05:00"
  kTres,     // "cpu=4,gres/gpu=2,mem=10G"
  kNames,    // names in any order
};

struct SlurmLimit {
  const char* name;
  LimitKind kind;
  const char* not_set;   // the value in the fixed form that counts as none
  const char* to_unset;  // what sacctmgr takes to return to it
};

// Those that a QOS, an account or a user's association can have, in the order in which commands
// list them.
const std::vector<SlurmLimit>& LimitsOf(LimitHolder holder);

// Checks names and values as an administrator wrote them. InvalidArgument names the limit.
absl::StatusOr<SlurmLimits> CanonicalLimits(LimitHolder holder,
                                            const std::map<std::string, std::string>& written);
// Adds the limit as sacctmgr prints it, unless it is not set. A form that is not known is kept as
// it is, and so differs from everything.
void AddPrintedLimit(const SlurmLimit& limit, absl::string_view printed, SlurmLimits* limits);

// The arguments that turn one set into the other: " MaxJobs=5 GrpTRES=gres/gpu=2,cpu=-1"; "": they
// are the same.
std::string LimitArguments(LimitHolder holder, const SlurmLimits& before, const SlurmLimits& after);

}  // namespace muster::agent
