#include "agent/slurm/accounting_state.h"

#include <algorithm>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxAccountingName = 64;

std::string WithLimits(LimitHolder holder, absl::string_view format) {
  std::string all(format);
  for (const SlurmLimit& limit : LimitsOf(holder)) absl::StrAppend(&all, ",", limit.name);
  return all;
}

std::vector<std::string> Question(std::vector<std::string> words, const std::string& format) {
  std::vector<std::string> argv = {"sacctmgr", "--noheader", "--parsable2", "show"};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.push_back(absl::StrCat("format=", format));
  return argv;
}

using Fields = std::vector<absl::string_view>;

// Calls `use` with the fields of each line; what goes beyond `count` is part of the last.
absl::Status ForEachLine(absl::string_view listing, size_t count,
                         const std::function<void(const Fields&)>& use) {
  for (const absl::string_view line : absl::StrSplit(listing, '\n', absl::SkipEmpty())) {
    const Fields fields = absl::StrSplit(line, absl::MaxSplits('|', static_cast<int>(count) - 1));
    if (fields.size() != count)
      return absl::InternalError(absl::StrCat("sacctmgr printed ", fields.size(),
                                              " fields instead of ", count, ": ", line));
    use(fields);
  }
  return absl::OkStatus();
}

SlurmLimits LimitsIn(LimitHolder holder, const Fields& fields, size_t from) {
  SlurmLimits limits;
  for (const SlurmLimit& limit : LimitsOf(holder)) AddPrintedLimit(limit, fields[from++], &limits);
  return limits;
}

}  // namespace

std::vector<std::string> ClusterQuestion(absl::string_view cluster) {
  return Question({"cluster", std::string(cluster)}, "controlhost");
}

std::vector<std::string> QosQuestion() {
  return Question({"qos"}, WithLimits(LimitHolder::kQos, "name"));
}

// woplimits, withrawqoslevel: what the association itself has, without what it inherits.
std::vector<std::string> AssociationsQuestion() {
  return Question({"associations", "woplimits", "withrawqoslevel"},
                  WithLimits(LimitHolder::kUser, "cluster,account,user,partition,parentname"));
}

std::vector<std::string> AccountsQuestion() {
  return Question({"account"}, "account,organization,description");
}

std::vector<std::string> UsersQuestion() { return Question({"user"}, "user,defaultaccount"); }

bool IsRegistered(const AccountingListing& listing) {
  return !absl::StripAsciiWhitespace(listing.cluster).empty();
}

absl::StatusOr<SlurmAccounting> ParseAccounting(const AccountingListing& listing,
                                                absl::string_view cluster) {
  SlurmAccounting found;
  RETURN_IF_ERROR(
      ForEachLine(listing.qos, 1 + LimitsOf(LimitHolder::kQos).size(), [&](const Fields& fields) {
        found.qos[std::string(fields[0])] = LimitsIn(LimitHolder::kQos, fields, 1);
      }));
  RETURN_IF_ERROR(ForEachLine(
      listing.associations, 5 + LimitsOf(LimitHolder::kUser).size(), [&](const Fields& fields) {
        const std::string account(fields[1]), user(fields[2]);
        if (fields[0] != cluster) {
          if (user.empty()) found.accounts_elsewhere.insert(account);
          if (!user.empty()) found.users_elsewhere.insert(user);
        } else if (user.empty()) {
          SlurmAccount& one = found.accounts[account];
          one.parent = std::string(fields[4]);
          one.limits = LimitsIn(LimitHolder::kAccount, fields, 5);
        } else if (fields[3].empty()) {
          found.users[user].accounts[account] = LimitsIn(LimitHolder::kUser, fields, 5);
        } else {
          found.users[user].partitions[account].emplace(fields[3]);
        }
      }));
  if (found.accounts.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("slurmdbd does not know the cluster ", cluster,
                     " yet; slurmctld tells it when it starts with AccountingStorageHost"));
  RETURN_IF_ERROR(ForEachLine(listing.accounts, 3, [&](const Fields& fields) {
    const auto account = found.accounts.find(std::string(fields[0]));
    if (account == found.accounts.end()) return;
    account->second.organization = std::string(fields[1]);
    account->second.description = std::string(fields[2]);
  }));
  RETURN_IF_ERROR(ForEachLine(listing.users, 2, [&](const Fields& fields) {
    const auto user = found.users.find(std::string(fields[0]));
    if (user != found.users.end()) user->second.default_account = std::string(fields[1]);
  }));
  return found;
}

absl::Status CheckAccountingName(absl::string_view what, absl::string_view name) {
  const bool fits =
      !name.empty() && name.size() <= kMaxAccountingName &&
      (absl::ascii_islower(name[0]) || absl::ascii_isdigit(name[0]) || name[0] == '_') &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_islower(c) || absl::ascii_isdigit(c) || absl::StrContains("_.-", c);
      });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, ": '", name, "' is not a name that Slurm keeps as it is: up to ", kMaxAccountingName,
      " lower-case letters, digits, '_', '.' and '-', the first of them neither '.' nor '-'"));
}

}  // namespace muster::agent
