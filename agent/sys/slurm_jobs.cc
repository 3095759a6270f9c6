#include "agent/sys/slurm_jobs.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent {

std::string JobOfCommandLine(absl::string_view command_line) {
  if (!absl::ConsumePrefix(&command_line, "slurmstepd: [")) return "";
  const absl::string_view job = command_line.substr(0, command_line.find_first_of(".]"));
  // "1235_7" is a task of an array; anything else is not what slurmstepd calls itself.
  if (job.empty() || job.size() == command_line.size()) return "";
  for (const char c : job)
    if (!absl::ascii_isalnum(c) && c != '_' && c != '+') return "";
  return std::string(job);
}

bool IsRootsOwn(absl::string_view status) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    if (!absl::ConsumePrefix(&line, "Uid:")) continue;
    const std::vector<absl::string_view> uids =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    return !uids.empty() && uids.front() == "0";  // real, effective, saved, file system
  }
  return false;
}

absl::StatusOr<std::vector<std::string>> RunningSlurmJobs(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/proc"));
  std::set<std::string> jobs;
  for (const std::string& name : names) {
    if (name.empty() || !std::all_of(name.begin(), name.end(), absl::ascii_isdigit)) continue;
    const auto line = files.Read(absl::StrCat("/proc/", name, "/cmdline"));
    if (!line.ok()) continue;  // it has ended meanwhile
    std::string job = JobOfCommandLine(*line);
    if (job.empty()) continue;
    const auto status = files.Read(absl::StrCat("/proc/", name, "/status"));
    if (status.ok() && IsRootsOwn(*status)) jobs.insert(std::move(job));
  }
  return std::vector<std::string>(jobs.begin(), jobs.end());
}

}  // namespace muster::agent
