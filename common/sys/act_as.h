// Another user's rights on files, for some system calls of one thread.
#pragma once

#include <sys/types.h>

#include <vector>

namespace muster::sys {

// Nobody is a member: the group that gives no rights.
inline constexpr gid_t kNobodysGroup = 65534;

// From here to its end this thread opens, makes and removes files as `uid` with the one group
// `gid`, so that the kernel itself decides what that user may do, on file servers that do not trust
// root too. The file system ids are a thread's own in Linux, unlike those of setuid(2), which the C
// library changes in all threads of a process: the rest of a daemon stays root, no child process is
// needed, and the user can neither signal nor trace the thread, whose other ids remain. No program
// is to be started meanwhile. A process that did so leaves no core dumps any more (proc(5),
// suid_dumpable), which would hold root's memory.
class ActAs {
 public:
  ActAs(uid_t uid, gid_t gid);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

  // False: the process may not, and nothing was changed.
  bool ok() const { return ok_; }

 private:
  const uid_t old_uid_;
  const gid_t old_gid_;
  std::vector<gid_t> old_groups_;
  bool groups_dropped_ = false;
  bool ok_ = false;
};

}  // namespace muster::sys
