#include "agent/sys/root_unit_manager.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// systemctl since 255 has a word of its own for it, earlier ones only the error of the file.
bool SaysNotFound(const sys::ProcessResult& result) {
  return absl::StrContains(result.output, "not-found") ||
         absl::StrContains(result.output, "No such file or directory");
}

}  // namespace

absl::StatusOr<sys::ProcessResult> RootUnitManager::Systemctl(const std::string& verb,
                                                              const std::string& unit) {
  // With this variable systemctl changes the files itself and asks no manager.
  const sys::ProcessSpec spec = {.argv = {"systemctl", verb, "--", unit},
                                 .environment = {{"SYSTEMD_OFFLINE", "1"}},
                                 .timeout = absl::Minutes(1)};
  absl::StatusOr<sys::ProcessResult> result = processes_.Run(spec);
  if (absl::IsNotFound(result.status()))
    return absl::FailedPreconditionError(
        "no systemctl in the root; install the package systemd in an earlier task");
  return result;
}

absl::StatusOr<UnitStatus> RootUnitManager::GetStatus(const std::string& unit) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result, Systemctl("is-enabled", unit));
  UnitStatus status = {.active_state = "inactive", .sub_state = "dead"};
  const std::string state(absl::StripAsciiWhitespace(result.out));
  if (state.empty() || state == "not-found") {
    if (!SaysNotFound(result))
      return absl::InternalError(absl::StrCat(
          "`systemctl is-enabled ", unit,
          "` does not say whether it is: ", absl::StripAsciiWhitespace(result.output)));
    status.load_state = "not-found";
    return status;
  }
  status.unit_file_state = state;
  status.load_state = absl::StartsWith(state, "masked") ? "masked"
                      : state == "bad"                  ? "bad-setting"
                                                        : "loaded";
  return status;
}

absl::StatusOr<std::vector<std::string>> RootUnitManager::ListFailed() {
  return std::vector<std::string>();
}

absl::Status RootUnitManager::Run(UnitJob job, const std::string& unit) { return absl::OkStatus(); }

absl::Status RootUnitManager::Change(const std::string& verb, const std::string& unit) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result, Systemctl(verb, unit));
  return sys::CheckSuccess({.argv = {absl::StrCat("systemctl ", verb, " ", unit)}}, result);
}

absl::Status RootUnitManager::SetEnabled(const std::string& unit, bool enabled) {
  return Change(enabled ? "enable" : "disable", unit);
}

absl::Status RootUnitManager::SetMasked(const std::string& unit, bool masked) {
  return Change(masked ? "mask" : "unmask", unit);
}

absl::Status RootUnitManager::DaemonReload() { return absl::OkStatus(); }

absl::Status RootUnitManager::StartReboot() {
  return absl::FailedPreconditionError("a root that is not running cannot reboot");
}

}  // namespace muster::agent
