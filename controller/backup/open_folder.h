// A folder that somebody else may own, and what root puts into it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/unique_fd.h"

namespace muster::controller {

// Holds a folder open, and reaches what is in it by its descriptor: whoever may write there can
// swap names as he likes, and gets nothing written, moved or given away outside of the folder by
// that. Names are single names. Not thread-safe.
class OpenFolder {
 public:
  struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
  };

  // No part of `path` but what canonical() resolved at once is followed as a link.
  static absl::StatusOr<OpenFolder> At(const std::string& path);
  // The folder `name` in this one, made (0700) if need be. FailedPrecondition: it is something
  // else.
  absl::StatusOr<OpenFolder> Inner(const std::string& name) const;

  bool Has(const std::string& name) const;
  // A new file with the content of the one at `source`, in place of what was there, given to
  // `owner` when there is one.
  absl::Status PutFile(const std::string& name, const std::string& source, mode_t mode,
                       std::optional<Owner> owner) const;
  absl::Status PutText(const std::string& name, absl::string_view content, mode_t mode,
                       std::optional<Owner> owner) const;
  // Moves `name` into `other`, under the same name.
  absl::Status MoveInto(const OpenFolder& other, const std::string& name) const;
  absl::Status Rename(const std::string& from, const std::string& to) const;
  // Gives the folder itself, or the file `name` in it, away.
  absl::Status Own(std::optional<Owner> owner) const;
  absl::Status OwnFile(const std::string& name, std::optional<Owner> owner) const;
  absl::Status SetMode(mode_t mode) const;

  // A path that leads here, whatever became of the names, as long as the object lives.
  std::string PathOf(const std::string& name) const;

 private:
  OpenFolder(std::string path, sys::UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  // For messages.
  absl::Status Failed(const char* doing, const std::string& name) const;
  absl::Status Put(const std::string& name, absl::FunctionRef<absl::Status(int fd)> write,
                   mode_t mode, std::optional<Owner> owner) const;

  std::string path_;
  sys::UniqueFd fd_;
};

}  // namespace muster::controller
