// A folder on a small file system of its own, which may be full or read-only.
#pragma once

#include <sched.h>
#include <sys/mount.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"

namespace muster::testing {

// In memory, and visible only to this process. Needs root.
class SmallDisk {
 public:
  // `size` in the form of mount: "2m".
  SmallDisk(const std::string& path, const std::string& size) : path_(path) {
    std::filesystem::create_directories(path);
    ok_ = unshare(CLONE_NEWNS) == 0 &&
          mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          mount("tmpfs", path.c_str(), "tmpfs", 0, absl::StrCat("size=", size).c_str()) == 0;
    if (!ok_) std::perror("small disk");
  }
  ~SmallDisk() {
    if (ok_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool ok() const { return ok_; }
  bool Resize(const std::string& size) {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT,
                 absl::StrCat("size=", size).c_str()) == 0;
  }
  // False: a file there is open for writing.
  bool MakeReadOnly(bool read_only) {
    return mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | (read_only ? MS_RDONLY : 0),
                 nullptr) == 0;
  }

 private:
  const std::string path_;
  bool ok_ = false;
};

}  // namespace muster::testing
