#include "agent/burnin/system/file_systems.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/bounded.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/mount_field.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

// If a server is gone, every call waits for ever.
constexpr absl::Duration kMountTimeout = absl::Seconds(30);
constexpr char kMountsFile[] = "/proc/self/mounts";

absl::Status WriteAndRemove(sys::FileSystem& files, const std::string& path) {
  const std::string probe = absl::StrCat(path == "/" ? "" : path, "/.muster-", NewShortId(""));
  const absl::Status written = files.WriteAtomically(probe, "muster-burnin was here\n", {});
  const absl::Status removed = files.Remove(probe, /*recursive=*/false);
  return written.ok() ? removed : written;
}

struct Probe {
  absl::Status writable;
  double free_bytes = -1;
};

Probe ProbePath(sys::FileSystem& files, const std::string& path) {
  Probe probe = {.writable = WriteAndRemove(files, path)};
  struct statvfs room = {};
  if (statvfs(path.c_str(), &room) == 0)
    probe.free_bytes = static_cast<double>(room.f_bavail) * static_cast<double>(room.f_frsize);
  return probe;
}

}  // namespace

std::vector<MountedAt> ParseMounts(absl::string_view mounts) {
  std::vector<MountedAt> all;
  for (const absl::string_view line : absl::StrSplit(mounts, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 4) continue;
    const std::vector<absl::string_view> options = absl::StrSplit(fields[3], ',');
    all.push_back({.path = UnescapeMountField(fields[1]),
                   .type = std::string(fields[2]),
                   .read_only = std::find(options.begin(), options.end(), "ro") != options.end()});
  }
  return all;
}

CheckResult RunFileSystemsCheck(CheckContext& context) {
  const std::vector<std::string> paths = context.parameters.Words("paths");
  if (paths.empty()) return Skipped("no file systems are specified (parameter paths)");
  const absl::StatusOr<std::string> text = context.files.Read(kMountsFile);
  if (!text.ok()) return Unknown(std::string(text.status().message()));
  const std::vector<MountedAt> mounts = ParseMounts(*text);
  CheckResult result;
  for (const std::string& path : paths) {
    // The last mount covers those before it.
    const auto mount = std::find_if(mounts.rbegin(), mounts.rend(),
                                    [&path](const MountedAt& at) { return at.path == path; });
    if (mount == mounts.rend()) {
      AddFault(result, "not_mounted", path, absl::StrCat("nothing is mounted at ", path));
      continue;
    }
    result.subjects.push_back({.id = path, .kind = "file_system", .model = mount->type});
    const std::optional<Probe> probe =
        RunBounded<Probe>(context.clock, kMountTimeout,
                          [&files = context.files, path] { return ProbePath(files, path); });
    if (!probe.has_value()) {
      AddFault(
          result, "file_system_hangs", path,
          absl::StrCat(
              path, " has not answered for ", absl::FormatDuration(kMountTimeout),
              mount->type == "nfs" || mount->type == "nfs4" ? ": is its server running?" : ""));
      continue;
    }
    if (!probe->writable.ok())
      AddFault(result, mount->read_only ? "read_only" : "not_writable", path,
               absl::StrCat(path, ": ", probe->writable.message()));
    if (probe->free_bytes >= 0) AddMetric(result, "free_bytes", "", path, probe->free_bytes);
    if (probe->free_bytes >= 0 && probe->free_bytes < context.parameters.Number("min-free"))
      AddFault(result, "little_room", path,
               absl::StrCat(path, " has ", probe->free_bytes, " bytes left"));
  }
  return result;
}

}  // namespace muster::burnin
