#include "agent/slurm/accounting_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr char kRoot[] = "root";
constexpr char kAbsent[] = "absent";
// slurmctld takes in each command by itself, on 22.05 for most of a second: equal changes of many
// are one command. sacctmgr was seen to take 300 long names.
constexpr size_t kNamesACommand = 200;
constexpr size_t kNamesShown = 10;
constexpr size_t kRefusalsShown = 5;

std::string QosEntry(absl::string_view name) { return absl::StrCat("qos ", name); }
std::string AccountEntry(absl::string_view name) { return absl::StrCat("account ", name); }
std::string UserEntry(absl::string_view name, absl::string_view account) {
  return absl::StrCat("user ", name, " ", account);
}

// Commands in the order of their first name; equal ones of several names are one, within a section.
class Commands {
 public:
  void Add(const std::string& before, const std::string& name, const std::string& after) {
    const Form form = {section_, before, after};
    auto& names = names_[form];
    if (names.empty()) order_.push_back(form);
    names.push_back(name);
  }
  // What is added from now on follows all that is there.
  void NewSection() { ++section_; }
  std::string Text() const {
    std::string text;
    for (const Form& form : order_) {
      const auto& [section, before, after] = form;
      const std::vector<std::string>& names = names_.find(form)->second;
      for (size_t i = 0; i < names.size(); i += kNamesACommand) {
        const auto begin = names.begin() + static_cast<std::ptrdiff_t>(i);
        const auto end =
            names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), i + kNamesACommand));
        absl::StrAppend(&text, before, absl::StrJoin(begin, end, ","), after, "\n");
      }
    }
    return text;
  }

 private:
  using Form = std::tuple<int, std::string, std::string>;
  int section_ = 0;
  std::map<Form, std::vector<std::string>> names_;
  std::vector<Form> order_;
};

class Planner {
 public:
  Planner(const SlurmAccounting& found, const SlurmAccounting& wanted,
          const std::set<std::string>& recorded, absl::string_view cluster)
      : found_(found),
        wanted_(wanted),
        recorded_(recorded),
        on_cluster_(absl::StrCat(" cluster=", cluster)) {}

  absl::StatusOr<AccountingPlan> Plan() {
    RETURN_IF_ERROR(CheckReferences());
    ASSIGN_OR_RETURN(const std::vector<std::string> accounts, ParentsFirst());
    for (const auto& [name, limits] : wanted_.qos) PlanQos(name, limits);
    for (const std::string& name : accounts) PlanAccount(name, wanted_.accounts.at(name));
    // A user's first account becomes the default, so nobody's second one may come before it.
    for (const bool to_default : {true, false}) {
      for (const auto& [name, user] : wanted_.users) PlanUser(name, user, to_default);
      main_.NewSection();
    }
    for (const auto& [name, user] : wanted_.users) PlanDefault(name, user.default_account);
    PlanRemovedUsers();
    RETURN_IF_ERROR(PlanRemovedAccounts());
    PlanRemovedQos();
    Finish();
    return std::move(plan_);
  }

 private:
  // What a thing is told of and of whom: "users", "in physics".
  struct Group {
    std::string kind;
    std::string where;
    std::string before;
    std::string after;
    auto Key() const { return std::tie(kind, where, before, after); }
    bool operator<(const Group& other) const { return Key() < other.Key(); }
  };

  void Note(Group group, const std::string& name) {
    auto& names = changed_[group];
    if (names.empty()) order_.push_back(group);
    names.push_back(name);
  }

  static std::string Described(LimitHolder holder, const SlurmLimits& from, const SlurmLimits& to) {
    return std::string(absl::StripAsciiWhitespace(LimitArguments(holder, from, to)));
  }

  // Notes each limit that differs.
  void NoteLimits(const char* kind, const std::string& where, const std::string& name,
                  LimitHolder holder, const SlurmLimits& before, const SlurmLimits& after) {
    for (const SlurmLimit& limit : LimitsOf(holder)) {
      const auto old_value = before.find(limit.name), value = after.find(limit.name);
      const std::string was = old_value == before.end() ? limit.not_set : old_value->second;
      const std::string is = value == after.end() ? limit.not_set : value->second;
      if (was == is) continue;
      Note({kind, absl::StrCat(where, where.empty() ? "" : " ", limit.name),
            was.empty() ? "none" : was, is.empty() ? "none" : is},
           name);
    }
  }

  absl::Status CheckQosOf(const std::string& holder, const SlurmLimits& limits) const {
    for (const char* key : {"QOS", "DefaultQOS", "Preempt"}) {
      const auto value = limits.find(key);
      if (value == limits.end()) continue;
      for (const absl::string_view name : absl::StrSplit(value->second, ',', absl::SkipEmpty())) {
        const std::string plain(absl::StripPrefix(name, "+"));
        if (wanted_.qos.count(plain) > 0) continue;
        if (found_.qos.count(plain) > 0 && !Goes(QosEntry(plain))) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(holder, " has ", key, "=", value->second, ", but no QOS '", plain,
                         "' is listed, nor is there one on the cluster"));
      }
    }
    return absl::OkStatus();
  }

  bool HasAccount(const std::string& name) const {
    return name == kRoot || wanted_.accounts.count(name) > 0 ||
           (found_.accounts.count(name) > 0 && !Goes(AccountEntry(name)));
  }

  absl::Status CheckReferences() const {
    for (const auto& [name, limits] : wanted_.qos)
      RETURN_IF_ERROR(CheckQosOf(absl::StrCat("QOS ", name), limits));
    for (const auto& [name, account] : wanted_.accounts) {
      RETURN_IF_ERROR(CheckQosOf(absl::StrCat("account ", name), account.limits));
      if (name != kRoot && !HasAccount(account.parent))
        return absl::InvalidArgumentError(
            absl::StrCat("account ", name, " has the parent '", account.parent,
                         "', which is neither listed nor on the cluster"));
    }
    for (const auto& [name, user] : wanted_.users) {
      for (const auto& [account, limits] : user.accounts) {
        RETURN_IF_ERROR(CheckQosOf(absl::StrCat("user ", name), limits));
        if (!HasAccount(account))
          return absl::InvalidArgumentError(
              absl::StrCat("user ", name, " is in the account '", account,
                           "', which is neither listed nor on the cluster"));
      }
    }
    return absl::OkStatus();
  }

  // Wanted accounts, each after its parent.
  absl::StatusOr<std::vector<std::string>> ParentsFirst() const {
    std::vector<std::string> order;
    std::set<std::string> done, above;
    for (const auto& [name, account] : wanted_.accounts) {
      std::vector<std::string> chain;
      above.clear();
      for (std::string at = name; wanted_.accounts.count(at) > 0 && done.count(at) == 0;
           at = wanted_.accounts.at(at).parent) {
        if (!above.insert(at).second)
          return absl::InvalidArgumentError(
              absl::StrCat("account ", at, " is its own ancestor: ", absl::StrJoin(chain, " in ")));
        chain.push_back(at);
      }
      for (auto one = chain.rbegin(); one != chain.rend(); ++one) {
        order.push_back(*one);
        done.insert(*one);
      }
    }
    return order;
  }

  void PlanQos(const std::string& name, SlurmLimits limits) {
    const auto there = found_.qos.find(name);
    SlurmLimits before = there == found_.qos.end() ? SlurmLimits() : there->second;
    if (there == found_.qos.end()) {
      plan_.record_before.insert(QosEntry(name));
      Note({"QOS", "", kAbsent, OrPresent(Described(LimitHolder::kQos, {}, limits))}, name);
    } else {
      NoteLimits("QOS", "", name, LimitHolder::kQos, before, limits);
    }
    // It may name another new one.
    SlurmLimits preempt_before, preempt;
    Move("Preempt", before, preempt_before);
    Move("Preempt", limits, preempt);
    const std::string rest = LimitArguments(LimitHolder::kQos, before, limits);
    const std::string later = LimitArguments(LimitHolder::kQos, preempt_before, preempt);
    if (there == found_.qos.end()) {
      qos_.Add("add qos ", name, rest);
    } else if (!rest.empty()) {
      qos_.Add("modify qos where name=", name, absl::StrCat(" set", rest));
    }
    if (!later.empty()) main_.Add("modify qos where name=", name, absl::StrCat(" set", later));
  }

  static void Move(const char* key, SlurmLimits& from, SlurmLimits& to) {
    const auto value = from.find(key);
    if (value == from.end()) return;
    to.insert(*value);
    from.erase(value);
  }

  static std::string OrPresent(std::string described) {
    return described.empty() ? "present" : described;
  }

  static std::string Texts(const SlurmAccount& account, const SlurmAccount& before) {
    std::string text;
    if (!account.organization.empty() && account.organization != before.organization)
      absl::StrAppend(&text, " Organization=\"", account.organization, "\"");
    if (!account.description.empty() && account.description != before.description)
      absl::StrAppend(&text, " Description=\"", account.description, "\"");
    return text;
  }

  void PlanAccount(const std::string& name, const SlurmAccount& account) {
    const auto there = found_.accounts.find(name);
    if (there == found_.accounts.end()) {
      plan_.record_before.insert(AccountEntry(name));
      const std::string limits = LimitArguments(LimitHolder::kAccount, {}, account.limits);
      const std::string parent = absl::StrCat(" parent=", account.parent);
      main_.Add("add account ", name,
                absl::StrCat(on_cluster_, parent, Texts(account, {}), limits));
      Note({"account", "", kAbsent, absl::StrCat("in ", account.parent, limits)}, name);
      return;
    }
    const SlurmAccount& before = there->second;
    // Beside anything else, Slurm takes a parent that is the same for "nothing to do".
    if (name != kRoot && account.parent != before.parent) {
      main_.Add("modify account where name=", name,
                absl::StrCat(on_cluster_, " set parent=", account.parent));
      Note({"account", "parent", before.parent, account.parent}, name);
    }
    if (const std::string texts = Texts(account, before); !texts.empty()) {
      main_.Add("modify account where name=", name, absl::StrCat(" set", texts));
      if (!account.organization.empty() && account.organization != before.organization)
        Note({"account", "organization", before.organization, account.organization}, name);
      if (!account.description.empty() && account.description != before.description)
        Note({"account", "description", before.description, account.description}, name);
    }
    const std::string limits = LimitArguments(LimitHolder::kAccount, before.limits, account.limits);
    if (limits.empty()) return;
    main_.Add("modify account where name=", name, absl::StrCat(on_cluster_, " set", limits));
    NoteLimits("account", "", name, LimitHolder::kAccount, before.limits, account.limits);
  }

  const SlurmLimits* FoundIn(const std::string& name, const std::string& account) const {
    const auto user = found_.users.find(name);
    if (user == found_.users.end()) return nullptr;
    const auto limits = user->second.accounts.find(account);
    return limits == user->second.accounts.end() ? nullptr : &limits->second;
  }

  void PlanUser(const std::string& name, const SlurmUser& user, bool to_default) {
    for (const auto& [account, limits] : user.accounts) {
      if ((account == user.default_account) != to_default) continue;
      const std::string where = absl::StrCat("in ", account);
      if (const SlurmLimits* before = FoundIn(name, account); before != nullptr) {
        const std::string arguments = LimitArguments(LimitHolder::kUser, *before, limits);
        if (arguments.empty()) continue;
        main_.Add("modify user where name=", name,
                  absl::StrCat(" account=", account, on_cluster_, " set", arguments));
        NoteLimits("user", where, name, LimitHolder::kUser, *before, limits);
        continue;
      }
      plan_.record_before.insert(UserEntry(name, account));
      main_.Add("add user ", name,
                absl::StrCat(on_cluster_, " account=", account,
                             LimitArguments(LimitHolder::kUser, {}, limits)));
      Note({"user", where, kAbsent, OrPresent(Described(LimitHolder::kUser, {}, limits))}, name);
    }
  }

  void PlanDefault(const std::string& name, const std::string& account) {
    const auto there = found_.users.find(name);
    if (there == found_.users.end() || there->second.default_account == account) return;
    main_.Add("modify user where name=", name,
              absl::StrCat(on_cluster_, " set DefaultAccount=", account));
    Note({"user", "default account",
          there->second.default_account.empty() ? "none" : there->second.default_account, account},
         name);
  }

  // Whether Muster put it there and the playbook no longer has it.
  bool Goes(const std::string& entry) const { return recorded_.count(entry) > 0 && !Wants(entry); }

  bool Wants(const std::string& entry) const {
    const std::vector<std::string> words = absl::StrSplit(entry, ' ');
    if (words.size() == 2 && words[0] == "qos") return wanted_.qos.count(words[1]) > 0;
    if (words.size() == 2 && words[0] == "account") return wanted_.accounts.count(words[1]) > 0;
    if (words.size() != 3) return false;
    const auto user = wanted_.users.find(words[1]);
    return user != wanted_.users.end() && user->second.accounts.count(words[2]) > 0;
  }

  // The accounts that he leaves. sacctmgr would remove his limits in partitions of an account
  // together with it, and cannot spare them: then he stays there, and the record forgets him.
  std::vector<std::string> Leaves(const std::string& name, const SlurmUser& user) const {
    std::vector<std::string> gone;
    for (const auto& [account, limits] : user.accounts)
      if (Goes(UserEntry(name, account)) && user.partitions.count(account) == 0)
        gone.push_back(account);
    return gone;
  }

  // An account of his that stays, best one without a partition; "": none.
  static std::string StaysIn(const SlurmUser& user, const std::vector<std::string>& gone) {
    for (const auto& [account, limits] : user.accounts)
      if (std::find(gone.begin(), gone.end(), account) == gone.end()) return account;
    return user.partitions.empty() ? "" : user.partitions.begin()->first;
  }

  // slurmdbd refuses to remove the default account of a user who has others: another becomes the
  // default before, or it is removed after the others.
  void PlanRemovedUsers() {
    for (const auto& [name, user] : found_.users) {
      const std::vector<std::string> gone = Leaves(name, user);
      const std::string stays = StaysIn(user, gone);
      // Those who are wanted have the default that is wanted.
      if (wanted_.users.count(name) == 0 && !stays.empty() &&
          std::find(gone.begin(), gone.end(), user.default_account) != gone.end())
        PlanDefault(name, stays);
      for (const std::string& account : gone)
        Note({"user", absl::StrCat("in ", account), "present", kAbsent}, name);
      for (const auto& [account, partitions] : user.partitions)
        if (user.accounts.count(account) > 0 && Goes(UserEntry(name, account)))
          Note({"user", absl::StrCat("in ", account), "present",
                absl::StrCat("kept: has limits by hand in partition ",
                             absl::StrJoin(partitions, ","))},
               name);
    }
    for (const bool is_default : {false, true}) {
      main_.NewSection();
      for (const auto& [name, user] : found_.users) PlanLeaving(name, user, is_default);
    }
  }

  void PlanLeaving(const std::string& name, const SlurmUser& user, bool is_default) {
    const std::vector<std::string> gone = Leaves(name, user);
    // With the last of his accounts the user himself goes.
    if (!gone.empty() && StaysIn(user, gone).empty() && wanted_.users.count(name) == 0 &&
        found_.users_elsewhere.count(name) == 0) {
      if (is_default) main_.Add("delete user where name=", name, "");
      return;
    }
    for (const std::string& account : gone)
      if ((account == user.default_account) == is_default)
        main_.Add("delete user where name=", name, absl::StrCat(" account=", account, on_cluster_));
  }

  // How many accounts are above it on the cluster.
  size_t Depth(const std::string& name) const {
    size_t depth = 0;
    for (auto at = found_.accounts.find(name);
         at != found_.accounts.end() && depth < found_.accounts.size();
         at = found_.accounts.find(at->second.parent))
      ++depth;
    return depth;
  }

  // Slurm removes what is in an account together with it, whoever put it there.
  absl::Status PlanRemovedAccounts() {
    std::vector<std::string> gone;
    for (const auto& [name, account] : found_.accounts)
      if (Goes(AccountEntry(name))) gone.push_back(name);
    std::vector<std::string> kept;
    for (const auto& [name, user] : found_.users)
      for (const auto& [account, limits] : user.accounts)
        if (Goes(AccountEntry(account)) && !Goes(UserEntry(name, account)))
          kept.push_back(absl::StrCat("user ", name, " in ", account));
    for (const auto& [name, user] : found_.users)
      for (const auto& [account, partitions] : user.partitions)
        if (Goes(AccountEntry(account)))
          kept.push_back(absl::StrCat("user ", name, " in ", account, ", partition ",
                                      absl::StrJoin(partitions, ",")));
    for (const auto& [name, account] : found_.accounts) {
      const auto wish = wanted_.accounts.find(name);
      const std::string& parent =
          wish == wanted_.accounts.end() ? account.parent : wish->second.parent;
      if (Goes(AccountEntry(parent)) && !Goes(AccountEntry(name)))
        kept.push_back(absl::StrCat("account ", name, " in ", parent));
    }
    if (!kept.empty()) {
      kept.resize(std::min(kept.size(), kNamesShown));
      return absl::InvalidArgumentError(absl::StrCat(
          "accounts that are no longer listed hold what Muster did not put there, and Slurm would "
          "remove it together with them: ",
          absl::StrJoin(kept, "; "), "; move it elsewhere, or keep the accounts"));
    }
    std::sort(gone.begin(), gone.end(), [this](const std::string& a, const std::string& b) {
      return std::make_pair(Depth(b), a) < std::make_pair(Depth(a), b);
    });
    for (const std::string& name : gone) {
      Note({"account", "", "present", kAbsent}, name);
      main_.Add("delete account where name=", name,
                found_.accounts_elsewhere.count(name) > 0 ? on_cluster_ : "");
    }
    return absl::OkStatus();
  }

  void PlanRemovedQos() {
    for (const auto& [name, limits] : found_.qos) {
      if (!Goes(QosEntry(name))) continue;
      Note({"QOS", "", "present", kAbsent}, name);
      last_.Add("delete qos where name=", name, "");
    }
  }

  // Whether the cluster has what an entry of the record stands for.
  bool IsThere(const std::string& entry) const {
    const std::vector<std::string> words = absl::StrSplit(entry, ' ');
    if (words.size() == 2 && words[0] == "qos") return found_.qos.count(words[1]) > 0;
    if (words.size() == 2 && words[0] == "account") return found_.accounts.count(words[1]) > 0;
    return words.size() == 3 && FoundIn(words[1], words[2]) != nullptr;
  }

  void Finish() {
    for (const std::string& entry : recorded_) {
      // Otherwise one that somebody adds later by hand would be taken for Muster's.
      if (!Wants(entry) && !IsThere(entry)) Note({"record", "", kAbsent, "forgotten"}, entry);
    }
    for (const Group& group : order_) {
      std::vector<std::string>& names = changed_[group];
      const size_t count = names.size();
      names.resize(std::min(count, kNamesShown));
      plan_.changes.push_back(
          {absl::StrCat(
               group.kind, count > 1 && group.kind != "QOS" ? "s " : " ", absl::StrJoin(names, ","),
               count > kNamesShown ? absl::StrCat(" and ", count - kNamesShown, " more") : "",
               group.where.empty() ? "" : " ", group.where),
           group.before, group.after});
    }
    for (const Commands* commands : {&qos_, &main_, &last_})
      if (std::string text = commands->Text(); !text.empty())
        plan_.batches.push_back(std::move(text));
    for (const std::string& entry : plan_.record_before) plan_.record_after.insert(entry);
    for (const std::string& entry : recorded_) {
      plan_.record_before.insert(entry);
      if (Wants(entry)) plan_.record_after.insert(entry);
    }
  }

  const SlurmAccounting& found_;
  const SlurmAccounting& wanted_;
  const std::set<std::string>& recorded_;
  const std::string on_cluster_;
  Commands qos_, main_, last_;
  std::map<Group, std::vector<std::string>> changed_;
  std::vector<Group> order_;
  AccountingPlan plan_;
};

}  // namespace

absl::StatusOr<AccountingPlan> PlanAccounting(const SlurmAccounting& found,
                                              const SlurmAccounting& wanted,
                                              const std::set<std::string>& recorded,
                                              absl::string_view cluster) {
  return Planner(found, wanted, recorded, cluster).Plan();
}

std::string RefusalsIn(absl::string_view output) {
  constexpr absl::string_view kPrompt = "sacctmgr: ";
  constexpr absl::string_view kWords[] = {"error",   "unknown option", "doesn't exist",
                                          "nothing", "no account",     "already exist"};
  std::vector<std::string> refusals;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    // The prompt comes before each command, too, which may have any word in a description.
    if (absl::ConsumePrefix(&line, kPrompt) && !absl::StartsWith(line, "error:")) continue;
    line = absl::StripAsciiWhitespace(line);
    if (refusals.size() < kRefusalsShown &&
        std::any_of(std::begin(kWords), std::end(kWords), [&line](absl::string_view word) {
          return absl::StrContains(absl::AsciiStrToLower(line), word);
        }))
      refusals.emplace_back(line.substr(0, 300));
  }
  return absl::StrJoin(refusals, "; ");
}

}  // namespace muster::agent
