#include "agent/validation/worker_process.h"

#include <signal.h>

#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/validation/worker_output.h"
#include "common/base/proto_time.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

// The position of starttime in /proc/PID/stat after the name in parentheses, which may hold
// anything (proc(5): field 22, and two come before that).
constexpr size_t kStartTimeField = 19;

bool IsWord(absl::string_view text) {
  if (text.empty() || !absl::ascii_islower(text.front())) return false;
  for (const char c : text) {
    if (!absl::ascii_islower(c) && !absl::ascii_isdigit(c) && c != '-' && c != '_') return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<sys::ProcessSpec> WorkerProcess(absl::string_view program,
                                               const v1::StartCheck& check,
                                               absl::string_view key_file) {
  if (!IsWord(check.check())) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", absl::CHexEscape(check.check()), "' is not the name of a check"));
  }
  sys::ProcessSpec spec = {.argv = {std::string(program), check.check(), "--json"}};
  for (const auto& [name, value] : check.parameters()) {
    if (!IsWord(name) || value.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", absl::CHexEscape(name), "' is not a parameter of a check"));
    }
    spec.argv.push_back(absl::StrCat("--set=", name, "=", value));
  }
  if (check.ranks() > 1) {
    spec.argv.push_back(absl::StrCat("--rank=", check.rank()));
    spec.argv.push_back(absl::StrCat("--ranks=", check.ranks()));
    // A file: everybody can read arguments.
    spec.argv.push_back(absl::StrCat("--key-file=", key_file));
  }
  if (check.force()) spec.argv.emplace_back("--force");
  spec.timeout = ToDuration(check.time_limit());
  spec.max_output = 4096;
  spec.max_line = WorkerOutput::kMaxLineBytes;
  return spec;
}

uint64_t StartTicksOf(int pid, sys::FileSystem& files) {
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

bool KillLeftBehind(const v1::CheckRecord& record, sys::FileSystem& files) {
  if (record.pid() <= 1 || record.pid_start_ticks() == 0) return false;
  if (StartTicksOf(record.pid(), files) != record.pid_start_ticks()) return false;
  return ::kill(-record.pid(), SIGKILL) == 0;
}

}  // namespace muster::agent
