// Users and groups of the node.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sys/process/process.h"

namespace muster::agent {

struct Group {
  std::string name;
  gid_t gid = 0;
  bool operator==(const Group&) const = default;
};

struct User {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;  // of the primary group
  std::string comment;
  std::string home;
  std::string shell;
  std::string password_hash;        // crypt(5); empty when it cannot be read
  std::vector<std::string> groups;  // supplementary, sorted
};

// The desired state of an account; absent values are left as they are, or to the system's choice.
struct GroupChange {
  std::string name;
  std::optional<gid_t> gid;
  bool system = false;  // for a new group
};

struct UserChange {
  std::string name;
  std::optional<uid_t> uid;
  std::optional<std::string> primary_group;
  std::vector<std::string> add_groups;
  std::optional<std::string> comment;
  std::optional<std::string> home;  // the directory itself is not moved
  std::optional<std::string> shell;
  std::optional<std::string> password_hash;
  bool system = false;       // for a new user
  bool create_home = false;  // for a new user
};

// Lookups follow the name service (nsswitch.conf), so users of a directory service are found,
// except for FindUser(); changes go to the node's own files. Blocking. Thread-safe.
class AccountDatabase {
 public:
  virtual ~AccountDatabase() = default;
  // The account in the node's own files, which SaveUser() can change. nullopt: there is none.
  virtual absl::StatusOr<std::optional<User>> FindUser(const std::string& name) = 0;
  // The account that the name service has, which may be a directory's. SaveUser() can neither
  // change a directory's account nor make one with its name.
  virtual absl::StatusOr<std::optional<User>> FindAnyUser(const std::string& name) = 0;
  // A single query instead of the dozen of FindAnyUser().
  virtual absl::StatusOr<std::optional<uid_t>> UserId(const std::string& name) = 0;
  virtual absl::StatusOr<std::optional<std::string>> UserName(uid_t uid) = 0;
  virtual absl::StatusOr<std::optional<Group>> FindGroup(const std::string& name) = 0;
  virtual absl::StatusOr<std::optional<std::string>> GroupName(gid_t gid) = 0;
  // Create the account if it is missing, otherwise modify it.
  virtual absl::Status SaveUser(const UserChange& change) = 0;
  virtual absl::Status SaveGroup(const GroupChange& change) = 0;
  // The home directory stays. It is a success if the user does not exist.
  virtual absl::Status RemoveUser(const std::string& name) = 0;
  virtual absl::Status RemoveGroup(const std::string& name) = 0;
};

// Reads through the C library, and the node's own accounts from `passwd_path`; changes by useradd,
// usermod, groupadd, groupmod, userdel and groupdel, which take care of the lock and of
// /etc/shadow, /etc/gshadow, /etc/subuid.
class SystemAccounts final : public AccountDatabase {
 public:
  explicit SystemAccounts(sys::ProcessRunner& processes, std::string passwd_path = "/etc/passwd")
      : processes_(processes), passwd_path_(std::move(passwd_path)) {}

  absl::StatusOr<std::optional<User>> FindUser(const std::string& name) override;
  absl::StatusOr<std::optional<User>> FindAnyUser(const std::string& name) override;
  absl::StatusOr<std::optional<uid_t>> UserId(const std::string& name) override;
  absl::StatusOr<std::optional<std::string>> UserName(uid_t uid) override;
  absl::StatusOr<std::optional<Group>> FindGroup(const std::string& name) override;
  absl::StatusOr<std::optional<std::string>> GroupName(gid_t gid) override;
  absl::Status SaveUser(const UserChange& change) override;
  absl::Status SaveGroup(const GroupChange& change) override;
  absl::Status RemoveUser(const std::string& name) override;
  absl::Status RemoveGroup(const std::string& name) override;

 private:
  absl::Status RunTool(std::vector<std::string> argv);

  sys::ProcessRunner& processes_;
  const std::string passwd_path_;
};

}  // namespace muster::agent
