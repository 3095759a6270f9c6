#include "agent/sys/accounts.h"

#include <grp.h>
#include <pwd.h>
#include <shadow.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// Enough for a group of thousands of members; grown on ERANGE up to the maximum.
constexpr size_t kFirstBuffer = 16 << 10;
constexpr size_t kMaxBuffer = 16 << 20;

// Calls one of the get…_r functions and retries with a larger buffer; nullopt: not found.
template <typename Record, typename Call>
absl::StatusOr<std::optional<Record>> Lookup(absl::string_view what, std::string& buffer,
                                             Call call) {
  buffer.resize(kFirstBuffer);
  while (true) {
    Record record = {};
    Record* found = nullptr;
    const int error = call(&record, buffer.data(), buffer.size(), &found);
    if (error == ERANGE && buffer.size() < kMaxBuffer) {
      buffer.resize(buffer.size() * 4);
      continue;
    }
    if (error == EINTR) continue;
    if (found != nullptr) return std::optional<Record>(record);
    // POSIX leaves open which of these mean "not found".
    if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
      return std::optional<Record>();
    return ErrnoStatus(error, what);
  }
}

// The record points into `buffer`.
absl::StatusOr<std::optional<passwd>> FindPasswd(const std::string& name, std::string& buffer) {
  return Lookup<passwd>(absl::StrCat("looking up user ", name), buffer,
                        [&name](passwd* p, char* b, size_t n, passwd** r) {
                          return ::getpwnam_r(name.c_str(), p, b, n, r);
                        });
}

// The same in the file at `path` alone.
absl::StatusOr<std::optional<passwd>> FindPasswdIn(const std::string& path, const std::string& name,
                                                   std::string& buffer) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  return Lookup<passwd>(absl::StrCat("looking up user ", name, " in ", path), buffer,
                        [&](passwd* p, char* b, size_t n, passwd** r) {
                          std::rewind(file.get());
                          int error = 0;
                          while ((error = ::fgetpwent_r(file.get(), p, b, n, r)) == 0)
                            if (name == p->pw_name) return 0;
                          *r = nullptr;
                          return error;
                        });
}

// Supplementary groups in the node's own files, which are the only ones that usermod changes.
std::vector<std::string> GroupsOf(const std::string& user, gid_t primary) {
  std::vector<gid_t> ids(64);
  int count = static_cast<int>(ids.size());
  while (::getgrouplist(user.c_str(), primary, ids.data(), &count) < 0) ids.resize(count);
  ids.resize(count);
  std::vector<std::string> names;
  std::string buffer;
  for (const gid_t gid : ids) {
    if (gid == primary) continue;
    const auto record = Lookup<group>(
        "group", buffer,
        [gid](group* g, char* b, size_t n, group** r) { return ::getgrgid_r(gid, g, b, n, r); });
    if (record.ok() && record->has_value()) names.emplace_back((*record)->gr_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// With what other files and the name service know of the user.
User UserOf(const passwd& record) {
  User user = {.name = record.pw_name,
               .uid = record.pw_uid,
               .gid = record.pw_gid,
               .comment = record.pw_gecos,
               .home = record.pw_dir,
               .shell = record.pw_shell};
  user.groups = GroupsOf(user.name, user.gid);
  std::string buffer;
  const auto shadow = Lookup<spwd>("shadow", buffer, [&user](spwd* s, char* b, size_t n, spwd** r) {
    return ::getspnam_r(user.name.c_str(), s, b, n, r);
  });
  if (shadow.ok() && shadow->has_value()) user.password_hash = (*shadow)->sp_pwdp;
  return user;
}

void AddFlag(std::vector<std::string>& argv, const char* flag,
             const std::optional<std::string>& value) {
  if (!value.has_value()) return;
  argv.emplace_back(flag);
  argv.push_back(*value);
}

}  // namespace

absl::StatusOr<std::optional<uid_t>> SystemAccounts::UserId(const std::string& name) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<passwd> record, FindPasswd(name, buffer));
  if (!record.has_value()) return std::optional<uid_t>();
  return std::optional<uid_t>(record->pw_uid);
}

absl::StatusOr<std::optional<User>> SystemAccounts::FindUser(const std::string& name) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<passwd> record, FindPasswdIn(passwd_path_, name, buffer));
  return record.has_value() ? std::optional<User>(UserOf(*record)) : std::nullopt;
}

absl::StatusOr<std::optional<User>> SystemAccounts::FindAnyUser(const std::string& name) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<passwd> record, FindPasswd(name, buffer));
  return record.has_value() ? std::optional<User>(UserOf(*record)) : std::nullopt;
}

absl::StatusOr<std::optional<std::string>> SystemAccounts::UserName(uid_t uid) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<passwd> record,
                   Lookup<passwd>(absl::StrCat("looking up user ", uid), buffer,
                                  [uid](passwd* p, char* b, size_t n, passwd** r) {
                                    return ::getpwuid_r(uid, p, b, n, r);
                                  }));
  if (!record.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(record->pw_name);
}

absl::StatusOr<std::optional<Group>> SystemAccounts::FindGroup(const std::string& name) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<group> record,
                   Lookup<group>(absl::StrCat("looking up group ", name), buffer,
                                 [&name](group* g, char* b, size_t n, group** r) {
                                   return ::getgrnam_r(name.c_str(), g, b, n, r);
                                 }));
  if (!record.has_value()) return std::optional<Group>();
  return std::optional<Group>(Group{.name = record->gr_name, .gid = record->gr_gid});
}

absl::StatusOr<std::optional<std::string>> SystemAccounts::GroupName(gid_t gid) {
  std::string buffer;
  ASSIGN_OR_RETURN(const std::optional<group> record,
                   Lookup<group>(absl::StrCat("looking up group ", gid), buffer,
                                 [gid](group* g, char* b, size_t n, group** r) {
                                   return ::getgrgid_r(gid, g, b, n, r);
                                 }));
  if (!record.has_value()) return std::optional<std::string>();
  return std::optional<std::string>(record->gr_name);
}

absl::Status SystemAccounts::RunTool(std::vector<std::string> argv) {
  const sys::ProcessSpec spec = {.argv = std::move(argv), .timeout = absl::Minutes(2)};
  return sys::RunChecked(processes_, spec).status();
}

absl::Status SystemAccounts::SaveUser(const UserChange& change) {
  ASSIGN_OR_RETURN(const std::optional<User> old, FindUser(change.name));
  std::vector<std::string> argv = {old.has_value() ? "usermod" : "useradd"};
  if (!old.has_value()) {
    if (change.system) argv.emplace_back("--system");
    argv.emplace_back(change.create_home ? "--create-home" : "--no-create-home");
    // Means "a group with the user's name" even if such a group exists already.
    if (!change.primary_group.has_value()) {
      ASSIGN_OR_RETURN(const std::optional<Group> own, FindGroup(change.name));
      if (own.has_value())
        AddFlag(argv, "--gid", change.name);
      else
        argv.emplace_back("--user-group");
    }
  }
  if (change.uid.has_value()) AddFlag(argv, "--uid", absl::StrCat(*change.uid));
  AddFlag(argv, "--gid", change.primary_group);
  if (!change.add_groups.empty()) {
    if (old.has_value()) argv.emplace_back("--append");
    AddFlag(argv, "--groups", absl::StrJoin(change.add_groups, ","));
  }
  AddFlag(argv, "--comment", change.comment);
  AddFlag(argv, old.has_value() ? "--home" : "--home-dir", change.home);
  AddFlag(argv, "--shell", change.shell);
  const bool something = argv.size() > 1 || !old.has_value();
  if (something) {
    argv.emplace_back("--");
    argv.push_back(change.name);
    RETURN_IF_ERROR(RunTool(std::move(argv)));
  }
  if (!change.password_hash.has_value()) return absl::OkStatus();
  // By standard input: everyone can read the arguments of a program.
  const sys::ProcessSpec spec = {
      .argv = {"chpasswd", "--encrypted"},
      .input = absl::StrCat(change.name, ":", *change.password_hash, "\n")};
  return sys::RunChecked(processes_, spec).status();
}

absl::Status SystemAccounts::SaveGroup(const GroupChange& change) {
  ASSIGN_OR_RETURN(const std::optional<Group> old, FindGroup(change.name));
  if (old.has_value() && !change.gid.has_value()) return absl::OkStatus();
  std::vector<std::string> argv = {old.has_value() ? "groupmod" : "groupadd"};
  if (!old.has_value() && change.system) argv.emplace_back("--system");
  if (change.gid.has_value()) AddFlag(argv, "--gid", absl::StrCat(*change.gid));
  argv.emplace_back("--");
  argv.push_back(change.name);
  return RunTool(std::move(argv));
}

absl::Status SystemAccounts::RemoveUser(const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<User> old, FindUser(name));
  return old.has_value() ? RunTool({"userdel", "--", name}) : absl::OkStatus();
}

absl::Status SystemAccounts::RemoveGroup(const std::string& name) {
  ASSIGN_OR_RETURN(const std::optional<Group> old, FindGroup(name));
  return old.has_value() ? RunTool({"groupdel", "--", name}) : absl::OkStatus();
}

}  // namespace muster::agent
