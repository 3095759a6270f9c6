// Users and groups in memory.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/accounts.h"

namespace muster::testing {

// Holds root at first. Thread-safe, except for the public maps, which the test fills before.
class FakeAccounts final : public agent::AccountDatabase {
 public:
  std::map<std::string, agent::User> users = {
      {"root", {.name = "root", .home = "/root", .shell = "/bin/bash"}}};
  // Users of a directory service by name: not the node's own.
  std::map<std::string, agent::User> directory;
  std::map<std::string, agent::Group> groups = {{"root", {.name = "root"}}};

  absl::StatusOr<std::optional<agent::User>> FindUser(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    const auto it = users.find(name);
    return it == users.end() ? std::nullopt : std::optional<agent::User>(it->second);
  }
  absl::StatusOr<std::optional<agent::User>> FindAnyUser(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    const auto it = users.find(name);
    if (it != users.end()) return std::optional<agent::User>(it->second);
    const auto other = directory.find(name);
    return other == directory.end() ? std::nullopt : std::optional<agent::User>(other->second);
  }
  absl::StatusOr<std::optional<uid_t>> UserId(const std::string& name) override {
    const auto user = FindAnyUser(name);
    return (*user).has_value() ? std::optional<uid_t>((*user)->uid) : std::nullopt;
  }
  absl::StatusOr<std::optional<std::string>> UserName(uid_t uid) override {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, user] : users)
      if (user.uid == uid) return std::optional<std::string>(name);
    for (const auto& [name, other] : directory)
      if (other.uid == uid) return std::optional<std::string>(name);
    return std::optional<std::string>();
  }
  absl::StatusOr<std::optional<agent::Group>> FindGroup(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    const auto it = groups.find(name);
    return it == groups.end() ? std::nullopt : std::optional<agent::Group>(it->second);
  }
  absl::StatusOr<std::optional<std::string>> GroupName(gid_t gid) override {
    absl::MutexLock lock(&mutex_);
    for (const auto& [name, group] : groups)
      if (group.gid == gid) return std::optional<std::string>(name);
    return std::optional<std::string>();
  }

  absl::Status SaveUser(const agent::UserChange& change) override {
    absl::MutexLock lock(&mutex_);
    const bool fresh = users.count(change.name) == 0;
    agent::User& user = users[change.name];
    user.name = change.name;
    if (fresh) {
      user.uid = change.uid.value_or(next_id_++);
      user.home = absl::StrCat("/home/", change.name);
      user.shell = "/bin/sh";
      user.password_hash = "!";
      if (!change.primary_group.has_value()) {
        user.gid = user.uid;
        groups.try_emplace(change.name, agent::Group{change.name, user.gid});
      }
    }
    user.uid = change.uid.value_or(user.uid);
    if (change.primary_group.has_value()) user.gid = groups.at(*change.primary_group).gid;
    user.comment = change.comment.value_or(user.comment);
    user.home = change.home.value_or(user.home);
    user.shell = change.shell.value_or(user.shell);
    user.password_hash = change.password_hash.value_or(user.password_hash);
    user.groups.insert(user.groups.end(), change.add_groups.begin(), change.add_groups.end());
    std::sort(user.groups.begin(), user.groups.end());
    return absl::OkStatus();
  }
  absl::Status SaveGroup(const agent::GroupChange& change) override {
    absl::MutexLock lock(&mutex_);
    agent::Group& group =
        groups.try_emplace(change.name, agent::Group{change.name, next_id_++}).first->second;
    group.gid = change.gid.value_or(group.gid);
    return absl::OkStatus();
  }
  absl::Status RemoveUser(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    users.erase(name);
    return absl::OkStatus();
  }
  absl::Status RemoveGroup(const std::string& name) override {
    absl::MutexLock lock(&mutex_);
    groups.erase(name);
    return absl::OkStatus();
  }

 private:
  absl::Mutex mutex_;
  uid_t next_id_ ABSL_GUARDED_BY(mutex_) = 1000;
};

}  // namespace muster::testing
