#include "agent/upgrade/upgrade.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/sys/apt/apt_arguments.h"
#include "agent/sys/apt/apt_output.h"
#include "agent/sys/unit_manager.h"
#include "agent/upgrade/kept_files.h"
#include "agent/upgrade/service_state.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(200);
constexpr absl::Duration kPatienceWithApt = absl::Minutes(10);

class Exchange {
 public:
  Exchange(const UpgradePlace& place, sys::FileSystem& files, sys::ProcessRunner& processes,
           UnitManager& units, Clock& clock)
      : place_(place),
        files_(files),
        processes_(processes),
        units_(units),
        clock_(clock),
        state_(place, files) {}

  absl::Status Carry(const std::string& version) {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> good, files_.Stat(place_.Good()));
    ASSIGN_OR_RETURN(std::string why, ReadNote(place_.Back(), files_));
    if (!good.has_value() && why.empty()) {
      const absl::Status up = BringUp(version);
      if (up.ok()) {
        RETURN_IF_ERROR(WriteNote(place_.Good(), version, files_));
      } else {
        // Stored before anything is put back: the previous agent reports it as soon as it runs, and
        // takes it away then.
        why = std::string(up.message());
        RETURN_IF_ERROR(WriteNote(place_.Failure(), why, files_));
        RETURN_IF_ERROR(WriteNote(place_.Back(), why, files_));
      }
    }
    if (!why.empty()) return TakeBack(version, why);
    RETURN_IF_ERROR(state_.Conclude("done", version, ""));
    return ForgetUpgrade(place_, files_);
  }

 private:
  absl::Status Install() {
    ASSIGN_OR_RETURN(const std::vector<std::string> packages, PackagesOf(place_, files_));
    std::vector<std::string> words = {"install", "--no-install-recommends", "--allow-downgrades",
                                      "--reinstall", "--"};
    words.insert(words.end(), packages.begin(), packages.end());
    const sys::ProcessSpec install = {
        .argv = AptGet(words), .environment = AptEnvironment(), .timeout = kPatienceWithApt};
    ASSIGN_OR_RETURN(const sys::ProcessResult installed, processes_.Run(install));
    if (installed.ok() || ParseAptFailure(installed.output).remedy != AptRemedy::kConfigureAll)
      return sys::CheckSuccess(install, installed);
    // After a power cut in the middle of dpkg, in this exchange or before it, apt-get refuses until
    // dpkg has configured what it was at. Whether it could, apt-get says.
    processes_
        .Run({.argv = DpkgConfigureAll(),
              .environment = AptEnvironment(),
              .timeout = kPatienceWithApt})
        .status()
        .IgnoreError();
    return sys::RunChecked(processes_, install).status();
  }

  // The new version in place, started and greeted. An error says why it is not.
  absl::Status BringUp(const std::string& version) {
    if (place_.has_state) {
      RETURN_IF_ERROR(state_.BeginProbation());
      RETURN_IF_ERROR(units_.Run(UnitJob::kStop, place_.service));
      RETURN_IF_ERROR(state_.Keep());
    }
    RETURN_IF_ERROR(Install());
    RETURN_IF_ERROR(units_.DaemonReload());
    // The previous version could be greeted once more.
    RETURN_IF_ERROR(units_.Run(UnitJob::kStop, place_.service));
    RETURN_IF_ERROR(files_.Remove(place_.greeted, /*recursive=*/false));
    RETURN_IF_ERROR(units_.Run(UnitJob::kStart, place_.service));
    return AwaitGreeting(version);
  }

  absl::Status AwaitGreeting(const std::string& version) {
    const absl::Time patience = clock_.Now() + kUpgradePatience;
    while (true) {
      ASSIGN_OR_RETURN(const std::string greeted, ReadNote(place_.greeted, files_));
      if (greeted == version) return absl::OkStatus();
      if (!greeted.empty())
        return absl::FailedPreconditionError(
            absl::StrCat("its package has ", place_.what, " ", greeted, " in it"));
      ASSIGN_OR_RETURN(const UnitStatus status, units_.GetStatus(place_.service));
      if (status.active_state == "failed")
        return absl::FailedPreconditionError("it started, then failed");
      if (clock_.Now() >= patience)
        return absl::DeadlineExceededError(
            absl::StrCat(place_.not_greeted, " within ", absl::FormatDuration(kUpgradePatience)));
      clock_.Sleep(kLook);
    }
  }

  absl::Status TakeBack(const std::string& version, const std::string& why) {
    if (place_.has_state) {
      RETURN_IF_ERROR(state_.BeginProbation());
      RETURN_IF_ERROR(units_.Run(UnitJob::kStop, place_.service));
    }
    for (const UpgradePlace::File& file : place_.files) {
      const absl::Status placed =
          sys::PlaceFile(place_.Previous(file), file.path, {.mode = file.mode}, /*may_move=*/false);
      if (!absl::IsNotFound(placed)) RETURN_IF_ERROR(placed);
    }
    RETURN_IF_ERROR(PutBackPackageFiles(place_.PreviousFolder(), files_, processes_));
    RETURN_IF_ERROR(state_.PutBack());
    RETURN_IF_ERROR(units_.DaemonReload());
    RETURN_IF_ERROR(state_.Conclude("back", version, why));
    RETURN_IF_ERROR(units_.Run(UnitJob::kRestart, place_.service));
    return ForgetUpgrade(place_, files_);
  }

  const UpgradePlace& place_;
  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  UnitManager& units_;
  Clock& clock_;
  ServiceState state_;
};

}  // namespace

absl::Status Upgrade(const UpgradePlace& place, sys::FileSystem& files,
                     sys::ProcessRunner& processes, UnitManager& units, Clock& clock) {
  ASSIGN_OR_RETURN(const std::string version, ReadNote(place.Order(), files));
  if (version.empty()) return absl::OkStatus();
  return Exchange(place, files, processes, units, clock).Carry(version);
}

}  // namespace muster::agent
