#include "agent/upgrade/upgrade.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "agent/sys/apt/apt_arguments.h"
#include "agent/sys/unit_manager.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);

absl::Status Install(const UpgradePlace& place, sys::ProcessRunner& processes) {
  return sys::RunChecked(
             processes, {.argv = AptGet({"install", "--no-install-recommends", "--allow-downgrades",
                                         "--reinstall", "--", place.Package()}),
                         .environment = {{"DEBIAN_FRONTEND", "noninteractive"}},
                         .timeout = absl::Minutes(10)})
      .status();
}

// The new version in place, started and welcomed. An error says why it is not.
absl::Status BringUp(const UpgradePlace& place, const std::string& version, sys::FileSystem& files,
                     sys::ProcessRunner& processes, UnitManager& units, Clock& clock) {
  RETURN_IF_ERROR(Install(place, processes));
  RETURN_IF_ERROR(units.DaemonReload());
  // The agent of before could be welcomed once more.
  RETURN_IF_ERROR(units.Run(UnitJob::kStop, kServiceUnit));
  RETURN_IF_ERROR(files.Remove(place.Greeted(), /*recursive=*/false));
  RETURN_IF_ERROR(units.Run(UnitJob::kStart, kServiceUnit));
  const absl::Time patience = clock.Now() + kUpgradePatience;
  while (true) {
    ASSIGN_OR_RETURN(const std::string greeted, ReadNote(place.Greeted(), files));
    if (greeted == version) return absl::OkStatus();
    if (!greeted.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("its package has agent ", greeted, " in it"));
    }
    if (clock.Now() >= patience) {
      return absl::DeadlineExceededError(absl::StrCat("it did not reach the controller within ",
                                                      absl::FormatDuration(kUpgradePatience)));
    }
    clock.Sleep(kLook);
  }
}

absl::Status TakeBack(const UpgradePlace& place, sys::FileSystem& files, UnitManager& units) {
  for (const UpgradePlace::File& file : place.files) {
    const absl::Status placed =
        sys::PlaceFile(place.Previous(file), file.path, {.mode = file.mode}, /*may_move=*/false);
    if (!absl::IsNotFound(placed)) RETURN_IF_ERROR(placed);
  }
  RETURN_IF_ERROR(units.DaemonReload());
  RETURN_IF_ERROR(units.Run(UnitJob::kRestart, kServiceUnit));
  return ForgetUpgrade(place, files);
}

}  // namespace

absl::Status Upgrade(const UpgradePlace& place, sys::FileSystem& files,
                     sys::ProcessRunner& processes, UnitManager& units, Clock& clock) {
  ASSIGN_OR_RETURN(const std::string version, ReadNote(place.Order(), files));
  if (version.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string before, ReadNote(place.Failure(), files));
  if (before.empty()) {
    const absl::Status up = BringUp(place, version, files, processes, units, clock);
    if (up.ok()) return ForgetUpgrade(place, files);
    // Stored before anything is put back: the previous agent reports it as soon as it runs.
    RETURN_IF_ERROR(
        files.WriteAtomically(place.Failure(), absl::StrCat(up.message(), "\n"), {.mode = 0600}));
  }
  return TakeBack(place, files, units);
}

}  // namespace muster::agent
