// Death at any act: what changes the world counts, and at a given number the one who acts is gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/sys/file_system.h"

namespace muster::testing {

struct Death {};

// Ends the one who acts, after a number of acts.
class Acts {
 public:
  void Count() {
    if (++count == die_at) throw Death();
  }
  int count = 0;
  int die_at = 0;  // 0: never
};

// The real files, whose changes are acts.
class CountedFiles final : public sys::FileSystem {
 public:
  explicit CountedFiles(Acts& acts) : acts_(acts) {}

  absl::StatusOr<std::string> Read(const std::string& path, size_t max_bytes) override {
    return real_.Read(path, max_bytes);
  }
  absl::Status WriteAtomically(const std::string& path, const std::string& content,
                               const sys::WriteOptions& options) override {
    acts_.Count();
    return real_.WriteAtomically(path, content, options);
  }
  absl::Status WriteToKernel(const std::string& path, const std::string& request) override {
    return real_.WriteToKernel(path, request);
  }
  absl::StatusOr<std::optional<sys::FileStat>> Stat(const std::string& path) override {
    return real_.Stat(path);
  }
  absl::StatusOr<std::optional<sys::FileView>> View(const std::string& path,
                                                    size_t max_bytes) override {
    return real_.View(path, max_bytes);
  }
  absl::Status MakeDirectory(const std::string& path, mode_t mode) override {
    acts_.Count();
    return real_.MakeDirectory(path, mode);
  }
  absl::Status Remove(const std::string& path, bool recursive) override {
    acts_.Count();
    return real_.Remove(path, recursive);
  }
  absl::StatusOr<std::string> ReadLink(const std::string& path) override {
    return real_.ReadLink(path);
  }
  absl::Status MakeSymlink(const std::string& target, const std::string& path) override {
    acts_.Count();
    return real_.MakeSymlink(target, path);
  }
  absl::Status SetAttributes(const std::string& path,
                             const sys::FileAttributes& attributes) override {
    return real_.SetAttributes(path, attributes);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return real_.List(directory);
  }
  absl::StatusOr<std::string> ForeignFolder(const std::string& path) override {
    return real_.ForeignFolder(path);
  }

 private:
  Acts& acts_;
  sys::RealFileSystem real_;
};

}  // namespace muster::testing
