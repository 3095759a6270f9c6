#include "agent/resources/makers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/resources/missing.h"
#include "agent/slurm/accounting_plan.h"
#include "agent/slurm/accounting_state.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kRecords[] = "slurm_accounts";
constexpr char kRootAccount[] = "root";
constexpr char kSlurmConf[] = "/etc/slurm/slurm.conf";
// Ten thousand users in a few accounts each.
constexpr size_t kMaxListing = size_t{32} << 20;
// slurmctld takes in each command by itself, most of a second for one, more while it is busy.
constexpr absl::Duration kBatchTimeout = absl::Minutes(10);
constexpr absl::Duration kCommandTimeout = absl::Seconds(3);
// How long slurmctld may take to register after its start, and how often we look.
constexpr absl::Duration kRegistrationPatience = absl::Seconds(30);
constexpr absl::Duration kRegistrationLook = absl::Milliseconds(500);

// Its record holds every entry that it has ever made and not removed.
class SlurmAccountSet final : public Resource {
 public:
  SlurmAccountSet(std::string cluster, SlurmAccounting wanted, ResourceContext& context)
      : cluster_(std::move(cluster)), wanted_(std::move(wanted)), context_(context) {}

  std::string Id() const override { return absl::StrCat("slurm_accounts[", cluster_, "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const std::optional<AccountingPlan> plan, Plan());
    if (!plan.has_value())
      return std::vector<Change>{
          {absl::StrCat("cluster ", cluster_), "not registered with slurmdbd", "registered"}};
    std::vector<Change> changes;
    for (const AccountingChange& change : plan->changes)
      changes.push_back({change.thing, change.before, change.after});
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const AccountingPlan plan, PlanOnceRegistered(observer));
    RETURN_IF_ERROR(Remember(plan.record_before));
    for (const std::string& batch : plan.batches) RETURN_IF_ERROR(RunBatch(batch, observer));
    return Remember(plan.record_after);
  }

 private:
  absl::StatusOr<AccountingPlan> PlanOnceRegistered(ApplyObserver& observer) {
    const absl::Time patience = context_.clock.Now() + kRegistrationPatience;
    while (true) {
      ASSIGN_OR_RETURN(std::optional<AccountingPlan> plan, Plan());
      if (plan.has_value()) return *std::move(plan);
      if (context_.clock.Now() >= patience)
        return absl::FailedPreconditionError(
            absl::StrCat("the cluster ", cluster_,
                         " has not registered with slurmdbd; restart slurmctld, which registers it "
                         "again, or see /var/log/slurm/slurmctld.log"));
      if (observer.IsStopping()) return absl::CancelledError("slurmctld is waited for");
      observer.OnActivity("slurmctld registers with slurmdbd", std::nullopt);
      context_.clock.Sleep(kRegistrationLook);
    }
  }

  // nullopt: slurmctld has not registered yet.
  absl::StatusOr<std::optional<AccountingPlan>> Plan() {
    ASSIGN_OR_RETURN(const AccountingListing listing, Listing());
    if (!IsRegistered(listing)) return std::nullopt;
    ASSIGN_OR_RETURN(const SlurmAccounting found, ParseAccounting(listing, cluster_));
    ASSIGN_OR_RETURN(const auto record, context_.records.Get(kRecords, cluster_));
    const std::set<std::string> recorded =
        absl::StrSplit(record.value_or(""), '\n', absl::SkipEmpty());
    return PlanAccounting(found, wanted_, recorded, cluster_);
  }

  // Asks everything at once: slurmdbd takes 40 ms and more for each message of an answer, nearly
  // all of it in waiting for the network's acknowledgement of the message's length.
  absl::StatusOr<AccountingListing> Listing() {
    // Without it, sacctmgr would look for one in the network, for many seconds.
    ASSIGN_OR_RETURN(const auto config, context_.files.Stat(kSlurmConf));
    if (!config.has_value())
      return MissingPath(kSlurmConf,
                         absl::StrCat("there is no ", kSlurmConf, "; slurmctld's role writes it"));
    const std::array questions = {ClusterQuestion(cluster_), QosQuestion(), AssociationsQuestion(),
                                  AccountsQuestion(), UsersQuestion()};
    std::array<absl::StatusOr<std::string>, questions.size()> answers;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < questions.size(); ++i)
      threads.emplace_back([&, i] { answers[i] = Ask(questions[i]); });
    for (std::thread& thread : threads) thread.join();
    for (const absl::StatusOr<std::string>& answer : answers) RETURN_IF_ERROR(answer.status());
    return AccountingListing{.cluster = *std::move(answers[0]),
                             .qos = *std::move(answers[1]),
                             .associations = *std::move(answers[2]),
                             .accounts = *std::move(answers[3]),
                             .users = *std::move(answers[4])};
  }

  // FailedPrecondition: an earlier step may install sacctmgr, or start slurmdbd.
  absl::StatusOr<std::string> Ask(const std::vector<std::string>& argv) {
    const sys::ProcessSpec process{.argv = argv, .max_output = kMaxListing};
    absl::StatusOr<sys::ProcessResult> result = sys::RunChecked(context_.processes, process);
    if (!result.ok())
      return absl::FailedPreconditionError(
          absl::StrCat("slurmdbd cannot be asked: ", result.status().message()));
    if (result->out.size() >= kMaxListing)
      return absl::ResourceExhaustedError("sacctmgr printed more than 32 MiB");
    return std::move(result->out);
  }

  absl::Status RunBatch(const std::string& batch, ApplyObserver& observer) {
    const auto commands = std::count(batch.begin(), batch.end(), '\n');
    const sys::ProcessSpec process{.argv = {"sacctmgr", "--immediate"},
                                   .input = batch,
                                   .timeout = kBatchTimeout + commands * kCommandTimeout,
                                   .max_output = kMaxListing,
                                   .on_line = [&observer](absl::string_view line) {
                                     observer.OnOutput(absl::StrCat(line, "\n"));
                                   }};
    ASSIGN_OR_RETURN(const sys::ProcessResult result, context_.processes.Run(process));
    if (result.ok()) return absl::OkStatus();
    const std::string refusals = RefusalsIn(result.output);
    if (refusals.empty()) return sys::CheckSuccess(process, result);
    return absl::InternalError(absl::StrCat("sacctmgr: ", refusals));
  }

  absl::Status Remember(const std::set<std::string>& entries) {
    if (entries.empty()) return context_.records.Remove(kRecords, cluster_);
    return context_.records.Put(kRecords, cluster_, absl::StrJoin(entries, "\n"));
  }

  const std::string cluster_;
  const SlurmAccounting wanted_;
  ResourceContext& context_;
};

absl::StatusOr<SlurmLimits> Limits(LimitHolder holder, absl::string_view name,
                                   const google::protobuf::Map<std::string, std::string>& written) {
  auto limits = CanonicalLimits(holder, {written.begin(), written.end()});
  if (!limits.ok()) return Annotate(limits.status(), name);
  return limits;
}

// sacctmgr stores it in lower case; a quote would end it.
absl::StatusOr<std::string> Text(absl::string_view what, absl::string_view text) {
  for (const char c : text) {
    if (absl::ascii_iscntrl(c) || c == '"' || c == '\'' || c == '|' || c == '\\')
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": quotes, '|', '\\' and control characters are not possible"));
  }
  return absl::AsciiStrToLower(text);
}

absl::Status AddAccount(const v1::SlurmAccountEntry& entry, SlurmAccounting* wanted) {
  RETURN_IF_ERROR(CheckAccountingName("accounts", entry.name()));
  SlurmAccount account;
  if (entry.name() == kRootAccount) {
    if (!entry.parent().empty())
      return absl::InvalidArgumentError("accounts: root is at the top and has no parent");
  } else {
    account.parent = entry.parent().empty() ? kRootAccount : entry.parent();
    RETURN_IF_ERROR(CheckAccountingName("parent", account.parent));
  }
  ASSIGN_OR_RETURN(account.organization, Text("organization", entry.organization()));
  ASSIGN_OR_RETURN(account.description, Text("description", entry.description()));
  ASSIGN_OR_RETURN(account.limits, Limits(LimitHolder::kAccount,
                                          absl::StrCat("account ", entry.name()), entry.limits()));
  if (!wanted->accounts.emplace(entry.name(), std::move(account)).second)
    return absl::InvalidArgumentError(absl::StrCat("accounts: ", entry.name(), " is listed twice"));
  return absl::OkStatus();
}

absl::Status AddUser(const v1::SlurmUserEntry& entry, SlurmAccounting* wanted) {
  RETURN_IF_ERROR(CheckAccountingName("users", entry.name()));
  if (entry.accounts().empty())
    return absl::InvalidArgumentError(
        absl::StrCat("users: ", entry.name(), " has no account; without one he has no jobs"));
  ASSIGN_OR_RETURN(const SlurmLimits limits,
                   Limits(LimitHolder::kUser, absl::StrCat("user ", entry.name()), entry.limits()));
  SlurmUser user;
  user.default_account =
      entry.default_account().empty() ? entry.accounts(0) : entry.default_account();
  for (const std::string& account : entry.accounts()) {
    RETURN_IF_ERROR(CheckAccountingName(absl::StrCat("accounts of ", entry.name()), account));
    user.accounts[account] = limits;
  }
  if (user.accounts.count(user.default_account) == 0)
    return absl::InvalidArgumentError(absl::StrCat("users: ", entry.name(),
                                                   " is not in his default ", "account '",
                                                   user.default_account, "'"));
  if (!wanted->users.emplace(entry.name(), std::move(user)).second)
    return absl::InvalidArgumentError(absl::StrCat("users: ", entry.name(), " is listed twice"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeSlurmAccounts(const v1::Step& step,
                                                            ResourceContext& context,
                                                            bool want_diff) {
  const v1::SlurmAccountSetResource& spec = step.slurm_accounts();
  RETURN_IF_ERROR(CheckAccountingName("cluster", spec.cluster()));
  SlurmAccounting wanted;
  for (const v1::SlurmQosEntry& entry : spec.qos()) {
    RETURN_IF_ERROR(CheckAccountingName("qos", entry.name()));
    ASSIGN_OR_RETURN(SlurmLimits limits,
                     Limits(LimitHolder::kQos, absl::StrCat("QOS ", entry.name()), entry.limits()));
    if (!wanted.qos.emplace(entry.name(), std::move(limits)).second)
      return absl::InvalidArgumentError(absl::StrCat("qos: ", entry.name(), " is listed twice"));
  }
  for (const v1::SlurmAccountEntry& entry : spec.accounts())
    RETURN_IF_ERROR(AddAccount(entry, &wanted));
  for (const v1::SlurmUserEntry& entry : spec.users()) RETURN_IF_ERROR(AddUser(entry, &wanted));
  return std::make_unique<SlurmAccountSet>(spec.cluster(), std::move(wanted), context);
}

}  // namespace muster::agent
