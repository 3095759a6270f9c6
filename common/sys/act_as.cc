#include "common/sys/act_as.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace muster::sys {
namespace {

// They report no failure: a call with an invalid id returns the one in force.
uid_t FileUid() { return static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1))); }
gid_t FileGid() { return static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1))); }

// Not setgroups(3), which would change the groups of all threads.
bool SetGroupsOfThread(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

}  // namespace

ActAs::ActAs(uid_t uid, gid_t gid) : old_uid_(FileUid()), old_gid_(FileGid()) {
  old_groups_.resize(64);
  int count = ::getgroups(static_cast<int>(old_groups_.size()), old_groups_.data());
  if (count < 0) {
    old_groups_.resize(static_cast<size_t>(::getgroups(0, nullptr)));
    count = ::getgroups(static_cast<int>(old_groups_.size()), old_groups_.data());
  }
  if (count < 0) return;
  old_groups_.resize(static_cast<size_t>(count));
  groups_dropped_ = SetGroupsOfThread({});
  if (!groups_dropped_) return;
  ::setfsgid(gid);
  ::setfsuid(uid);
  ok_ = FileUid() == uid && FileGid() == gid;
}

ActAs::~ActAs() {
  const int error = errno;
  ::setfsuid(old_uid_);
  ::setfsgid(old_gid_);
  if (groups_dropped_) SetGroupsOfThread(old_groups_);
  errno = error;
}

}  // namespace muster::sys
