#include "agent/sys/sd_bus_unit.h"

#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/sys/unit_files.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr char kUnitInterface[] = "org.freedesktop.systemd1.Unit";
constexpr char kServiceInterface[] = "org.freedesktop.systemd1.Service";

absl::StatusOr<std::string> Property(sd_bus* bus, const std::string& path, const char* interface,
                                     const char* name) {
  BusError error;
  char* raw = nullptr;
  const int result = sd_bus_get_property_string(bus, internal::kService, path.c_str(), interface,
                                                name, error.get(), &raw);
  const std::unique_ptr<char, decltype(&std::free)> text(raw, &std::free);
  if (result < 0) return error.ToStatus(result, absl::StrCat("reading ", name));
  return std::string(raw);
}

// LoadUnit and not GetUnit: the latter knows only what is in memory.
absl::StatusOr<std::string> UnitPath(sd_bus* bus, const std::string& unit) {
  const std::string what = absl::StrCat("reading unit ", unit);
  ASSIGN_OR_RETURN(const MessageHandle reply,
                   CallManager(bus, "LoadUnit", what, "s", unit.c_str()));
  const char* path = nullptr;
  if (const int result = sd_bus_message_read(reply.get(), "o", &path); result < 0)
    return ErrnoStatus(-result, what);
  return std::string(path);
}

bool HasUnreadFiles(sd_bus* bus, const std::string& path, const std::string& unit) {
  const auto fragment = Property(bus, path, kUnitInterface, "FragmentPath");
  BusError error;
  char** raw = nullptr;
  if (!fragment.ok() ||
      sd_bus_get_property_strv(bus, internal::kService, path.c_str(), kUnitInterface, "DropInPaths",
                               error.get(), &raw) < 0)
    return false;  // a systemd without them
  std::vector<std::string> drop_ins;
  for (char** drop_in = raw; drop_in != nullptr && *drop_in != nullptr; ++drop_in) {
    drop_ins.emplace_back(*drop_in);
    std::free(*drop_in);
  }
  std::free(raw);
  sys::RealFileSystem files;
  return HasUnreadUnitFiles(files, unit, *fragment, drop_ins);
}

absl::StatusOr<bool> Flag(sd_bus* bus, const std::string& path, const char* interface,
                          const char* name) {
  BusError error;
  int flag = 0;
  const int result = sd_bus_get_property_trivial(bus, internal::kService, path.c_str(), interface,
                                                 name, error.get(), 'b', &flag);
  if (result < 0) return error.ToStatus(result, absl::StrCat("reading ", name));
  return flag != 0;
}

// Distinguishes a unit that has done its work from one that was never started.
absl::Status ReadEnd(sd_bus* bus, const std::string& path, bool is_service, UnitStatus& status) {
  ASSIGN_OR_RETURN(status.conditions_held, Flag(bus, path, kUnitInterface, "ConditionResult"));
  if (!is_service) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string type, Property(bus, path, kServiceInterface, "Type"));
  ASSIGN_OR_RETURN(const bool remains, Flag(bus, path, kServiceInterface, "RemainAfterExit"));
  status.ends_by_itself = type == "oneshot" && !remains;
  if (!status.ends_by_itself) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string result, Property(bus, path, kServiceInterface, "Result"));
  BusError error;
  uint64_t ended = 0;
  const int read =
      sd_bus_get_property_trivial(bus, internal::kService, path.c_str(), kServiceInterface,
                                  "ExecMainExitTimestampMonotonic", error.get(), 't', &ended);
  if (read < 0) return error.ToStatus(read, "reading its end time");
  status.ended_well = result == "success" && ended > 0;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UnitStatus> ReadStatus(sd_bus* bus, const std::string& unit) {
  ASSIGN_OR_RETURN(const std::string path, UnitPath(bus, unit));
  UnitStatus status;
  const std::pair<const char*, std::string*> kProperties[] = {
      {"LoadState", &status.load_state},
      {"ActiveState", &status.active_state},
      {"SubState", &status.sub_state},
      {"UnitFileState", &status.unit_file_state}};
  for (const auto& [name, value] : kProperties) {
    ASSIGN_OR_RETURN(*value, Property(bus, path, kUnitInterface, name));
  }
  ASSIGN_OR_RETURN(const bool changed, Flag(bus, path, kUnitInterface, "NeedDaemonReload"));
  status.need_daemon_reload = changed || HasUnreadFiles(bus, path, unit);
  if (status.load_state == "loaded" && status.active_state != "active")
    RETURN_IF_ERROR(ReadEnd(bus, path, absl::EndsWith(unit, ".service"), status));
  return status;
}

absl::StatusOr<bool> IsOnlyLaunched(sd_bus* bus, const std::string& unit) {
  if (!absl::EndsWith(unit, ".service")) return false;
  ASSIGN_OR_RETURN(const std::string path, UnitPath(bus, unit));
  ASSIGN_OR_RETURN(const std::string type, Property(bus, path, kServiceInterface, "Type"));
  return type == "simple" || type == "exec" || type == "idle";
}

absl::StatusOr<bool> HasJob(sd_bus* bus, const std::string& unit) {
  ASSIGN_OR_RETURN(const std::string path, UnitPath(bus, unit));
  BusError error;
  sd_bus_message* raw = nullptr;
  int result = sd_bus_get_property(bus, internal::kService, path.c_str(), kUnitInterface, "Job",
                                   error.get(), &raw, "(uo)");
  if (result < 0) return error.ToStatus(result, "reading Job");
  const MessageHandle reply(raw);
  uint32_t id = 0;
  const char* job = nullptr;
  result = sd_bus_message_read(reply.get(), "(uo)", &id, &job);
  if (result < 0) return ErrnoStatus(-result, "reading Job");
  return id != 0;
}

}  // namespace muster::agent
