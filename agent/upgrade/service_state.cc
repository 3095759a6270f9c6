#include "agent/upgrade/service_state.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

// The database and what SQLite has not yet moved into it. Its index of that, -shm, is made anew.
constexpr const char* kStateFiles[] = {"muster.db", "muster.db-wal"};
constexpr char kIndex[] = "muster.db-shm";

}  // namespace

ServiceState::ServiceState(const UpgradePlace& place, sys::FileSystem& files)
    : place_(place), files_(files) {}

absl::StatusOr<std::string> ServiceState::Folder() {
  if (!place_.has_state) return std::string();
  ASSIGN_OR_RETURN(std::string folder, ReadNote(place_.StateFolderNote(), files_));
  if (folder.empty())
    return absl::DataLossError(absl::StrCat(place_.StateFolderNote(), " is missing"));
  return folder;
}

absl::Status ServiceState::BeginProbation() {
  ASSIGN_OR_RETURN(const std::string folder, Folder());
  if (folder.empty()) return absl::OkStatus();
  return files_.WriteAtomically(folder + "/probation", "", {.mode = 0644});
}

absl::Status ServiceState::Keep() {
  ASSIGN_OR_RETURN(const std::string folder, Folder());
  if (folder.empty()) return absl::OkStatus();
  const std::string mark = place_.State() + "/complete";
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> complete, files_.Stat(mark));
  if (complete.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(files_.Remove(place_.State(), /*recursive=*/true));
  RETURN_IF_ERROR(files_.MakeDirectory(place_.State(), 0700));
  for (const char* name : kStateFiles) {
    const std::string path = absl::StrCat(folder, "/", name);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(path));
    if (!stat.has_value()) continue;
    RETURN_IF_ERROR(sys::PlaceFile(path, absl::StrCat(place_.State(), "/", name),
                                   {.mode = stat->mode, .uid = stat->uid, .gid = stat->gid},
                                   /*may_move=*/false));
  }
  return files_.WriteAtomically(mark, "", {.mode = 0600});
}

absl::Status ServiceState::PutBack() {
  ASSIGN_OR_RETURN(const std::string folder, Folder());
  if (folder.empty()) return absl::OkStatus();
  const std::string mark = place_.State() + "/complete";
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> complete, files_.Stat(mark));
  if (!complete.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(files_.Remove(absl::StrCat(folder, "/", kIndex), /*recursive=*/false));
  for (const char* name : kStateFiles) {
    const std::string path = absl::StrCat(folder, "/", name);
    const std::string kept = absl::StrCat(place_.State(), "/", name);
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(kept));
    if (!stat.has_value()) {
      RETURN_IF_ERROR(files_.Remove(path, /*recursive=*/false));
      continue;
    }
    RETURN_IF_ERROR(sys::PlaceFile(kept, path,
                                   {.mode = stat->mode, .uid = stat->uid, .gid = stat->gid},
                                   /*may_move=*/false));
  }
  // From here the previous version may record again, and must not lose it to a second time.
  return files_.Remove(mark, /*recursive=*/false);
}

absl::Status ServiceState::Conclude(absl::string_view outcome, absl::string_view version,
                                    absl::string_view why) {
  ASSIGN_OR_RETURN(const std::string folder, Folder());
  if (folder.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string before, ReadNote(place_.Before(), files_));
  // It is musterd that reads it, and removes it.
  RETURN_IF_ERROR(files_.WriteAtomically(
      folder + "/update", absl::StrCat(outcome, " ", before, " ", version, "\n", why, "\n"),
      {.mode = 0644}));
  return files_.Remove(folder + "/probation", /*recursive=*/false);
}

}  // namespace muster::agent
