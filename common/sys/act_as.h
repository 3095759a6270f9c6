// Another user's file access rights for some system calls of one thread.
#pragma once

#include <sys/types.h>

#include <vector>

namespace muster::sys {

// A group without members, which gives no rights.
inline constexpr gid_t kNobodysGroup = 65534;

// From construction to destruction this thread opens, creates and removes files as `uid` with the
// single group `gid`, so that the kernel itself decides what that user may do, also on file servers
// that do not trust root. In Linux the file system ids belong to a thread, unlike the ids of
// setuid(2), which the C library changes in all threads of a process: the rest of a daemon stays
// root, no child process is needed, and the user can neither signal nor trace the thread, whose
// other ids remain. Start no program meanwhile. A process that has done so no longer dumps core
// (proc(5), suid_dumpable): a dump would hold root's memory.
class ActAs {
 public:
  ActAs(uid_t uid, gid_t gid);
  ~ActAs();
  ActAs(const ActAs&) = delete;
  ActAs& operator=(const ActAs&) = delete;

  // False: the process is not permitted to, and nothing was changed.
  bool ok() const { return ok_; }

 private:
  const uid_t old_uid_;
  const gid_t old_gid_;
  std::vector<gid_t> old_groups_;
  bool groups_dropped_ = false;
  bool ok_ = false;
};

}  // namespace muster::sys
