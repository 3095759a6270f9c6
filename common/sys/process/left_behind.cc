#include "common/sys/process/left_behind.h"

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_system.h"

namespace muster::sys {
namespace {

// The position of starttime in /proc/PID/stat after the name in parentheses, which may hold
// anything (proc(5): field 22, and two come before that).
constexpr size_t kStartTimeField = 19;

}  // namespace

uint64_t StartTicksOf(int pid, FileSystem& files) {
  if (pid <= 1) return 0;
  const absl::StatusOr<std::string> stat = files.Read(absl::StrCat("/proc/", pid, "/stat"), 4096);
  if (!stat.ok()) return 0;
  const size_t name_end = stat->rfind(") ");
  if (name_end == std::string::npos) return 0;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(*stat).substr(name_end + 2), ' ');
  uint64_t ticks = 0;
  if (fields.size() <= kStartTimeField || !absl::SimpleAtoi(fields[kStartTimeField], &ticks))
    return 0;
  return ticks;
}

bool KillLeftBehind(int pid, uint64_t start_ticks, FileSystem& files) {
  if (pid <= 1 || start_ticks == 0 || StartTicksOf(pid, files) != start_ticks) return false;
  return ::kill(-pid, SIGKILL) == 0;
}

}  // namespace muster::sys
