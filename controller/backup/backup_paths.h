// The places of a backup's parts on the controller.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "controller/config.h"

namespace muster::controller {

struct BackupPart {
  std::string name;  // in the archive, or among the sealed keys
  std::string path;  // on the machine
  bool is_key = false;
  bool is_required = false;
  // True: owned by musterd's account; false: by root. An administrator's files are never replaced.
  bool is_service = true;
};

// All parts except the store and the blobs.
std::vector<BackupPart> BackupParts(const Config& config, const std::string& config_path);

// The deepest folder on the path to `path`, itself included, in which nobody but root and the
// current user can swap anything: each folder above it belongs to root or to us, and nobody else
// may write to it unless it is sticky, as /tmp is.
std::string OwnFolderOnTheWayTo(const std::string& path);

// A private folder in OwnFolderOnTheWayTo(`near`), removed with its contents by the destructor.
class StagingFolder {
 public:
  static absl::StatusOr<StagingFolder> Make(const std::string& near);
  ~StagingFolder();
  StagingFolder(StagingFolder&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  const std::string& path() const { return path_; }

 private:
  explicit StagingFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace muster::controller
