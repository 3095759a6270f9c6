// QOS, accounts and users of a cluster in Slurm's accounting: as sacctmgr tells them, or as they
// should be.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/slurm/slurm_limits.h"

namespace muster::agent {

struct SlurmAccount {
  std::string parent;  // empty for "root" alone
  // Empty in a desired account: left as it is. sacctmgr stores both in lower case.
  std::string organization;
  std::string description;
  SlurmLimits limits;
};

struct SlurmUser {
  std::string default_account;
  std::map<std::string, SlurmLimits> accounts;  // his limits in each
  // The partitions in which he has limits of their own, by account: an administrator's, never ours.
  std::map<std::string, std::set<std::string>> partitions;
};

struct SlurmAccounting {
  std::map<std::string, SlurmLimits> qos;
  std::map<std::string, SlurmAccount> accounts;
  std::map<std::string, SlurmUser> users;
  // Accounts and users that other clusters of the same slurmdbd have, too.
  std::set<std::string> accounts_elsewhere;
  std::set<std::string> users_elsewhere;
};

// The output of the questions.
struct AccountingListing {
  std::string cluster;
  std::string qos;
  std::string associations;
  std::string accounts;
  std::string users;
};

// The arguments of sacctmgr for each question. They are few, however many users there are.
std::vector<std::string> ClusterQuestion(absl::string_view cluster);
std::vector<std::string> QosQuestion();
std::vector<std::string> AssociationsQuestion();
std::vector<std::string> AccountsQuestion();
std::vector<std::string> UsersQuestion();

// Whether the cluster's slurmctld has registered with slurmdbd, which it does some moments after
// its first start: before, slurmdbd knows neither the cluster nor its kinds of GPUs.
bool IsRegistered(const AccountingListing& listing);

// FailedPrecondition: slurmdbd does not know the cluster. Internal: a line in another form.
absl::StatusOr<SlurmAccounting> ParseAccounting(const AccountingListing& listing,
                                                absl::string_view cluster);

// InvalidArgument unless sacctmgr keeps the name as it is, and takes it for nothing but a name.
absl::Status CheckAccountingName(absl::string_view what, absl::string_view name);

}  // namespace muster::agent
