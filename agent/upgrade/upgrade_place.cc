#include "agent/upgrade/upgrade_place.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr mode_t kPrivateFolder = 0700;

}  // namespace

std::string UpgradePlace::Previous(const File& file) const {
  return absl::StrCat(Folder(), "/previous/", file.path.substr(file.path.rfind('/') + 1));
}

absl::StatusOr<std::string> ReadNote(const std::string& path, sys::FileSystem& files) {
  absl::StatusOr<std::string> text = files.Read(path);
  if (absl::IsNotFound(text.status())) return std::string();
  RETURN_IF_ERROR(text.status());
  absl::StripAsciiWhitespace(&*text);
  return text;
}

absl::Status OrderUpgrade(const UpgradePlace& place, absl::string_view version,
                          const std::string& package, bool may_move, sys::FileSystem& files) {
  RETURN_IF_ERROR(files.MakeDirectory(place.Folder(), kPrivateFolder));
  RETURN_IF_ERROR(files.MakeDirectory(place.Folder() + "/previous", kPrivateFolder));
  for (const UpgradePlace::File& file : place.files) {
    const absl::Status kept = sys::PlaceFile(file.path, place.Previous(file), {.mode = file.mode},
                                             /*may_move=*/false);
    if (!absl::IsNotFound(kept)) RETURN_IF_ERROR(kept);
  }
  RETURN_IF_ERROR(sys::PlaceFile(package, place.Package(), {.mode = kPrivate}, may_move));
  return files.WriteAtomically(place.Order(), absl::StrCat(version, "\n"), {.mode = kPrivate});
}

absl::StatusOr<std::string> TakeFailure(const UpgradePlace& place, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(std::string why, ReadNote(place.Failure(), files));
  if (!why.empty()) RETURN_IF_ERROR(files.Remove(place.Failure(), /*recursive=*/false));
  return why;
}

absl::Status ForgetUpgrade(const UpgradePlace& place, sys::FileSystem& files) {
  // The order first: without it nothing begins again.
  RETURN_IF_ERROR(files.Remove(place.Order(), /*recursive=*/false));
  RETURN_IF_ERROR(files.Remove(place.Package(), /*recursive=*/false));
  return files.Remove(place.Folder() + "/previous", /*recursive=*/true);
}

}  // namespace muster::agent
