// From the accounts of a cluster as they are to those that a playbook wants: pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/slurm/accounting_state.h"

namespace muster::agent {

// One difference; equal ones of many users are one.
struct AccountingChange {
  std::string thing;  // "users ann,bob in physics"
  std::string before;
  std::string after;
};

struct AccountingPlan {
  std::vector<AccountingChange> changes;
  // What sacctmgr reads from its standard input, for one process each: it learns of QOS once, when
  // it first needs one, so those that others refer to come in a process of their own.
  std::vector<std::string> batches;
  // Entries of the record: what Muster put there. `before`: to be recorded before the first batch
  // runs, `after`: when all have succeeded.
  std::set<std::string> record_before;
  std::set<std::string> record_after;
};

// `recorded`: the entries that Muster has put there and not removed; of the others none is removed,
// and those that are wanted are changed all the same. A wanted QOS, account or user has exactly the
// limits that are stated. InvalidArgument: a reference to something that is neither there nor
// wanted, a circle of parents, an account that cannot be removed because others use it.
absl::StatusOr<AccountingPlan> PlanAccounting(const SlurmAccounting& found,
                                              const SlurmAccounting& wanted,
                                              const std::set<std::string>& recorded,
                                              absl::string_view cluster);

// What sacctmgr refused, by the whole output of a batch, in its own words and without the commands:
// standard output and error do not come in one order. "": nothing that looks like it.
std::string RefusalsIn(absl::string_view output);

}  // namespace muster::agent
