#include "agent/resources/makers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "agent/resources/check_values.h"
#include "agent/resources/id_change.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/text_diff.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kHidden[] = "[secret]";

class UserAccount final : public Resource {
 public:
  UserAccount(v1::UserResource spec, ResourceContext& context, bool want_diff)
      : spec_(std::move(spec)), context_(context), want_diff_(want_diff) {}

  std::string Id() const override { return absl::StrCat("user[", spec_.name(), "]"); }

  absl::StatusOr<std::vector<Change>> Check() override {
    ASSIGN_OR_RETURN(const auto own, context_.accounts.FindUser(spec_.name()));
    std::vector<Change> changes;
    if (spec_.state() == v1::PRESENCE_ABSENT) {
      if (own.has_value()) changes.push_back({"state", "present", "absent"});
      return changes;
    }
    ASSIGN_OR_RETURN(const auto user, OwnOrAny(own));
    RETURN_IF_ERROR(CheckUidIsFree(user));
    ASSIGN_OR_RETURN(const std::optional<gid_t> primary, PrimaryGid());
    RETURN_IF_ERROR(CheckGroupsExist());
    if (user.has_value()) {
      ASSIGN_OR_RETURN(changes, CompareAccount(*user, primary));
      if (!own.has_value() && !changes.empty()) return DirectoryAccount(changes.front().field);
      if (spec_.has_uid() && user->uid != spec_.uid())
        RETURN_IF_ERROR(CheckIdMayChange("uid", *user, user->uid, spec_.uid(), context_));
    } else {
      changes.push_back({"state", "absent", "present"});
    }
    RETURN_IF_ERROR(CompareKeys(user, changes));
    return changes;
  }

  absl::Status Apply(ApplyObserver& observer) override {
    ASSIGN_OR_RETURN(const std::vector<Change> changes, Check());
    if (changes.empty()) return absl::OkStatus();
    if (spec_.state() == v1::PRESENCE_ABSENT) return context_.accounts.RemoveUser(spec_.name());
    const bool only_keys = changes.size() == 1 && changes.front().field == "authorized_keys";
    if (!only_keys) RETURN_IF_ERROR(SaveAccount());
    // An empty list makes neither the file nor its folder.
    const bool write_keys = spec_.no_authorized_keys() ? changes.back().field == "authorized_keys"
                                                       : !spec_.authorized_keys().empty();
    return write_keys ? WriteKeys() : absl::OkStatus();
  }

 private:
  // Where the node has no account of its own, that of a directory serves if it is as wanted:
  // useradd makes none of a name that the name service knows.
  absl::StatusOr<std::optional<User>> OwnOrAny(const std::optional<User>& own) {
    if (own.has_value()) return own;
    return context_.accounts.FindAnyUser(spec_.name());
  }

  absl::Status DirectoryAccount(absl::string_view field) const {
    return absl::FailedPreconditionError(
        absl::StrCat("the directory has an account '", spec_.name(), "' with another ", field,
                     ", which cannot be changed on the node; hide it from the node (sssd: "
                     "filter_users), or leave the task out"));
  }

  absl::Status CheckUidIsFree(const std::optional<User>& user) {
    if (!spec_.has_uid() || (user.has_value() && user->uid == spec_.uid())) return absl::OkStatus();
    ASSIGN_OR_RETURN(const auto other, context_.accounts.UserName(spec_.uid()));
    if (!other.has_value()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("uid ", spec_.uid(), " belongs to the user '", *other, "' on the node"));
  }

  absl::StatusOr<std::optional<gid_t>> PrimaryGid() {
    if (spec_.primary_group().empty()) return std::optional<gid_t>();
    ASSIGN_OR_RETURN(const auto group, context_.accounts.FindGroup(spec_.primary_group()));
    if (!group.has_value()) return UnknownGroup("primary_group", spec_.primary_group());
    return std::optional<gid_t>(group->gid);
  }

  absl::Status CheckGroupsExist() {
    for (const std::string& name : spec_.groups()) {
      ASSIGN_OR_RETURN(const auto group, context_.accounts.FindGroup(name));
      if (!group.has_value()) return UnknownGroup("groups", name);
    }
    return absl::OkStatus();
  }

  static absl::Status UnknownGroup(absl::string_view field, const std::string& name) {
    return absl::FailedPreconditionError(
        absl::StrCat(field, ": no group '", name, "' on the node; create it in an earlier task"));
  }

  // `primary`: see PrimaryGid(). The primary group is never among the user's supplementary ones.
  absl::StatusOr<std::vector<std::string>> MissingGroups(const User& user,
                                                         std::optional<gid_t> primary) {
    std::vector<std::string> missing;
    for (const std::string& name : spec_.groups()) {
      if (std::find(user.groups.begin(), user.groups.end(), name) != user.groups.end()) continue;
      ASSIGN_OR_RETURN(const auto group, context_.accounts.FindGroup(name));
      if (group.has_value() && group->gid == primary.value_or(user.gid)) continue;
      missing.push_back(name);
    }
    return missing;
  }

  absl::StatusOr<std::vector<Change>> CompareAccount(const User& user,
                                                     std::optional<gid_t> primary) {
    std::vector<Change> changes;
    ASSIGN_OR_RETURN(const std::vector<std::string> missing, MissingGroups(user, primary));
    if (spec_.has_uid() && user.uid != spec_.uid())
      changes.push_back({"uid", absl::StrCat(user.uid), absl::StrCat(spec_.uid())});
    if (primary.has_value() && user.gid != *primary)
      changes.push_back({"primary_group", absl::StrCat("gid ", user.gid), spec_.primary_group()});
    if (!missing.empty())
      changes.push_back({"groups", absl::StrJoin(user.groups, ","),
                         absl::StrCat("+", absl::StrJoin(missing, ",+"))});
    const std::string home = WantedHome(user);
    const struct {
      const char* field;
      const std::string& now;
      const std::string& want;
    } kTexts[] = {{"home", user.home, home},
                  {"shell", user.shell, spec_.shell()},
                  {"comment", user.comment, spec_.comment()}};
    for (const auto& text : kTexts)
      if (!text.want.empty() && text.now != text.want)
        changes.push_back({text.field, text.now, text.want});
    if (!spec_.password_hash().empty() && user.password_hash != spec_.password_hash())
      changes.push_back({"password_hash", kHidden, kHidden});
    return changes;
  }

  // Empty: any. A system account that is there keeps its home, which differs from distribution to
  // distribution: its daemon runs, and usermod gives no other home to a user who has processes.
  std::string WantedHome(const std::optional<User>& user) const {
    return spec_.system() && user.has_value() ? std::string() : spec_.home();
  }

  std::string KeysText() const {
    std::string text;
    for (const std::string& key : spec_.authorized_keys()) absl::StrAppend(&text, key, "\n");
    return text;
  }

  std::string HomeOf(const std::optional<User>& user) const {
    const std::string wanted = WantedHome(user);
    if (!wanted.empty()) return wanted;
    return user.has_value() ? user->home : absl::StrCat("/home/", spec_.name());
  }

  absl::Status CompareKeys(const std::optional<User>& user, std::vector<Change>& changes) {
    if (spec_.authorized_keys().empty() && !spec_.no_authorized_keys()) return absl::OkStatus();
    const std::string path = absl::StrCat(HomeOf(user), "/.ssh/authorized_keys");
    ASSIGN_OR_RETURN(const std::optional<sys::FileView> now, context_.files.View(path));
    if (!now.has_value() && spec_.no_authorized_keys()) return absl::OkStatus();
    const bool is_file = now.has_value() && now->stat.type == sys::FileType::kRegular;
    if (is_file && now->content == KeysText()) return absl::OkStatus();
    const auto count = [](absl::string_view text) {
      return Counted(std::count(text.begin(), text.end(), '\n'), "line");
    };
    changes.push_back(
        {"authorized_keys",
         is_file           ? count(now->content)
         : now.has_value() ? "not a regular file"
                           : "absent",
         count(KeysText()),
         want_diff_ ? UnifiedDiff(is_file ? now->content : "", KeysText(), path) : std::string()});
    return absl::OkStatus();
  }

  absl::Status SaveAccount() {
    ASSIGN_OR_RETURN(const auto user, context_.accounts.FindUser(spec_.name()));
    UserChange change = {
        .name = spec_.name(), .system = spec_.system(), .create_home = spec_.create_home()};
    // For an existing account only the differences: usermod refuses to touch the uid of a user who
    // has processes, even if it stays the same.
    if (spec_.has_uid() && (!user.has_value() || user->uid != spec_.uid()))
      change.uid = spec_.uid();
    if (!spec_.primary_group().empty()) change.primary_group = spec_.primary_group();
    if (user.has_value()) {
      ASSIGN_OR_RETURN(const std::optional<gid_t> primary, PrimaryGid());
      ASSIGN_OR_RETURN(change.add_groups, MissingGroups(*user, primary));
    } else {
      change.add_groups.assign(spec_.groups().begin(), spec_.groups().end());
    }
    if (!spec_.comment().empty()) change.comment = spec_.comment();
    const std::string home = WantedHome(user);
    if (!home.empty() && (!user.has_value() || user->home != home)) change.home = home;
    if (!spec_.shell().empty()) change.shell = spec_.shell();
    if (!spec_.password_hash().empty()) change.password_hash = spec_.password_hash();
    return context_.accounts.SaveUser(change);
  }

  absl::Status WriteKeys() {
    ASSIGN_OR_RETURN(const auto own, context_.accounts.FindUser(spec_.name()));
    ASSIGN_OR_RETURN(const auto user, OwnOrAny(own));
    if (!user.has_value())
      return absl::InternalError(absl::StrCat("user '", spec_.name(), "' vanished while applying"));
    const std::string home = HomeOf(user), folder = absl::StrCat(home, "/.ssh");
    ASSIGN_OR_RETURN(const auto home_stat, context_.files.Stat(home));
    if (!home_stat.has_value())
      return absl::FailedPreconditionError(
          absl::StrCat("authorized_keys: the home directory ", home,
                       " does not exist; set create_home: true, or create it in an earlier task"));
    ASSIGN_OR_RETURN(const auto stat, context_.files.Stat(folder));
    // Both are made with the user's own rights, like everything in a folder that a user owns.
    if (stat.has_value() && stat->type != sys::FileType::kDirectory)
      return absl::InvalidArgumentError(
          absl::StrCat("authorized_keys: ", folder, " is not a directory; remove it first"));
    const sys::FileAttributes owner = {.mode = 0700, .uid = user->uid, .gid = user->gid};
    RETURN_IF_ERROR(context_.files.MakeDirectory(folder, 0700));
    RETURN_IF_ERROR(context_.files.SetAttributes(folder, owner));
    return context_.files.WriteAtomically(absl::StrCat(folder, "/authorized_keys"), KeysText(),
                                          {.mode = 0600, .uid = user->uid, .gid = user->gid});
  }

  const v1::UserResource spec_;
  ResourceContext& context_;
  const bool want_diff_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Resource>> MakeUser(const v1::Step& step, ResourceContext& context,
                                                   bool want_diff) {
  const v1::UserResource& spec = step.user();
  RETURN_IF_ERROR(CheckName("name", spec.name()));
  if (!spec.primary_group().empty())
    RETURN_IF_ERROR(CheckName("primary_group", spec.primary_group()));
  for (const std::string& group : spec.groups()) RETURN_IF_ERROR(CheckName("groups", group));
  if (!spec.home().empty() && spec.home() != "/") RETURN_IF_ERROR(CheckPath("home", spec.home()));
  if (!spec.shell().empty()) RETURN_IF_ERROR(CheckPath("shell", spec.shell()));
  // A colon or a line break would write other fields of /etc/passwd, or another account.
  for (const auto& [field, text] :
       {std::pair<const char*, const std::string&>("comment", spec.comment()),
        {"password_hash", spec.password_hash()}}) {
    if (text.find_first_of(":\n\r") != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat(field, ": contains a colon or a line break"));
  }
  for (const std::string& key : spec.authorized_keys())
    RETURN_IF_ERROR(CheckOneLine("authorized_keys", key));
  return std::make_unique<UserAccount>(spec, context, want_diff);
}

}  // namespace muster::agent
