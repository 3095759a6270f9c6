#include "agent/sys/process_status.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/mount_info.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"

namespace muster::agent {

bool IsProcess(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), absl::ascii_isdigit);
}

std::vector<absl::string_view> StatusWords(absl::string_view status, absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (absl::ConsumePrefix(&line, key))
      return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  }
  return {};
}

absl::string_view FirstStatusWord(absl::string_view status, absl::string_view key) {
  const std::vector<absl::string_view> words = StatusWords(status, key);
  return words.empty() ? absl::string_view() : words.front();
}

std::string RootMount(absl::string_view mountinfo) {
  std::string root;
  for (const MountInfo& mount : MountsOf(mountinfo)) {
    if (mount.path == "/") root = absl::StrCat(mount.device, " ", mount.folder);
  }
  return root;
}

absl::StatusOr<std::vector<std::string>> ProcessesOfUser(uid_t uid, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/proc"));
  ASSIGN_OR_RETURN(const std::string own_mounts, files.Read("/proc/self/mountinfo"));
  const std::string root = RootMount(own_mounts);
  const std::string id = absl::StrCat(uid);
  std::vector<std::string> processes;
  for (const std::string& pid : names) {
    if (!IsProcess(pid)) continue;
    const auto status = files.Read(absl::StrCat("/proc/", pid, "/status"));
    if (!status.ok()) continue;  // it has ended meanwhile
    const std::vector<absl::string_view> ids = StatusWords(*status, "Uid:");
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) continue;
    // A zombie has none any more.
    const auto mounts = files.Read(absl::StrCat("/proc/", pid, "/mountinfo"));
    if (!mounts.ok() || RootMount(*mounts) != root) continue;
    processes.push_back(absl::StrCat(PlainText(FirstStatusWord(*status, "Name:"), Lines::kOne),
                                     " (pid ", pid, ")"));
  }
  return processes;
}

}  // namespace muster::agent
