#include "agent/sys/sd_bus.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/sys/lost_bus.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// systemctl, too, reaches systemd here when root runs it.
constexpr char kPrivateSocket[] = "/run/systemd/private";
// A daemon-reload with thousands of units, or a machine that swaps, needs its time.
constexpr uint64_t kCallTimeoutMicroseconds = 120u * 1000u * 1000u;

struct ErrorCode {
  const char* name;
  absl::StatusCode code;
  const char* remedy;
};
constexpr ErrorCode kErrorCodes[] = {
    {"org.freedesktop.systemd1.NoSuchUnit", absl::StatusCode::kNotFound,
     "; is its package installed and its name right?"},
    {"org.freedesktop.systemd1.UnitMasked", absl::StatusCode::kFailedPrecondition,
     "; unmask it first"},
    {"org.freedesktop.systemd1.LoadFailed", absl::StatusCode::kFailedPrecondition,
     "; `systemd-analyze verify` shows what is wrong with its file"},
    {"org.freedesktop.DBus.Error.AccessDenied", absl::StatusCode::kPermissionDenied, ""},
    {"org.freedesktop.DBus.Error.FileNotFound", absl::StatusCode::kNotFound,
     "; is its package installed and its name right?"},
};

}  // namespace

absl::Status BusError::ToStatus(int result, absl::string_view what) const {
  const absl::string_view name = error_.name == nullptr ? "" : error_.name;
  const std::string message = absl::StrCat(
      what, ": ", error_.message == nullptr ? "no answer from systemd" : error_.message);
  for (const ErrorCode& row : kErrorCodes)
    if (name == row.name) return absl::Status(row.code, absl::StrCat(message, row.remedy));
  if (IsLostConnection(-result)) return absl::UnavailableError(message);
  if (error_.message != nullptr) return absl::InternalError(message);
  return ErrnoStatus(-result, message);
}

absl::Status BusStatus(int result, absl::string_view what) {
  const absl::Status status = ErrnoStatus(-result, what);
  return IsLostConnection(-result) ? absl::UnavailableError(status.message()) : status;
}

absl::StatusOr<BusHandle> OpenSystemd(const std::string& address) {
  sd_bus* raw = nullptr;
  int result = sd_bus_new(&raw);
  if (result < 0) return ErrnoStatus(-result, "making a bus connection");
  BusHandle bus(raw);
  const bool direct =
      address.empty() && ::geteuid() == 0 && ::access(kPrivateSocket, R_OK | W_OK) == 0;
  if (direct) {
    result = sd_bus_set_address(raw, absl::StrCat("unix:path=", kPrivateSocket).c_str());
    if (result >= 0) result = sd_bus_start(raw);
  } else if (!address.empty()) {
    result = sd_bus_set_address(raw, address.c_str());
    if (result >= 0) result = sd_bus_set_bus_client(raw, true);
    if (result >= 0) result = sd_bus_start(raw);
  } else {
    bus.reset();
    result = sd_bus_open_system(&raw);
    if (result >= 0) bus.reset(raw);
  }
  if (result < 0) return ErrnoStatus(-result, "connecting to systemd (is it this machine's init?)");
  sd_bus_set_method_call_timeout(bus.get(), kCallTimeoutMicroseconds);
  return bus;
}

}  // namespace muster::agent
