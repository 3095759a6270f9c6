// A folder that another user may own, and the files that root puts into it.
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

// Holds a folder open and reaches its entries through the descriptor: whoever may write to the
// folder can swap names at will, but cannot cause anything to be written, moved or given away
// outside of it. Names are single path components. Not thread-safe.
class OpenFolder {
 public:
  struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
  };

  // Resolves the links in `path` once, with canonical(); opening fails on any link that remains.
  static absl::StatusOr<OpenFolder> At(const std::string& path);
  // Opens the folder `name` in this one and makes it (0700) if need be. FailedPrecondition: `name`
  // is something else.
  absl::StatusOr<OpenFolder> Inner(const std::string& name) const;

  bool Has(const std::string& name) const;
  // The owner of the folder itself.
  absl::StatusOr<Owner> GetOwner() const;
  // Copies the plain file `name` to the new file `target` (0600), which is outside of the folder.
  // FailedPrecondition: `name` is a link or something else.
  absl::Status CopyOut(const std::string& name, const std::string& target) const;
  // Creates a new file with the content of the one at `source`, in place of any existing one, and
  // gives it to `owner` if there is one.
  absl::Status PutFile(const std::string& name, const std::string& source, mode_t mode,
                       std::optional<Owner> owner) const;
  absl::Status PutText(const std::string& name, absl::string_view content, mode_t mode,
                       std::optional<Owner> owner) const;
  // Moves `name` into `other`, under the same name.
  absl::Status MoveInto(const OpenFolder& other, const std::string& name) const;
  absl::Status Rename(const std::string& from, const std::string& to) const;
  // Changes the owner of the folder itself, or of the file `name` in it.
  absl::Status Own(std::optional<Owner> owner) const;
  absl::Status OwnFile(const std::string& name, std::optional<Owner> owner) const;
  absl::Status SetMode(mode_t mode) const;

  // A path that leads to `name` here as long as the object lives, even if the folder is renamed.
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
