// The places of a backup's parts on the controller.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/backup/backup_leftovers.h"
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
// Folders that earlier processes left there, because they ended suddenly, are removed first.
class StagingFolder {
 public:
  static absl::StatusOr<StagingFolder> Make(const std::string& near);
  const std::string& path() const { return folder_.path(); }
  // See Unfinished.
  void KeepAtSignal() { folder_.KeepAtSignal(); }

 private:
  StagingFolder(FolderShare share, std::string path)
      : share_(std::move(share)), folder_(Leftover::kStaging, std::move(path)) {}
  FolderShare share_;
  Unfinished folder_;
};

// ResourceExhausted: `folder` has too little room, with `free_bytes` left, for the two copies of
// the store that a backup makes there. Pure.
absl::Status CheckRoom(const std::string& folder, uint64_t free_bytes, uint64_t store_bytes);

}  // namespace muster::controller
