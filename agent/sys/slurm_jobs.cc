#include "agent/sys/slurm_jobs.h"

#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/sys/accounts.h"
#include "agent/sys/process_status.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/sys/file_system.h"

namespace muster::agent {
namespace {

constexpr size_t kMaxEnvironment = size_t{1} << 20;
constexpr size_t kMaxNameBytes = 128;

// Fills in what one of the job's processes reveals about it.
void Describe(const std::string& pid, absl::string_view status, sys::FileSystem& files,
              AccountDatabase& accounts, SlurmJob& job) {
  uid_t uid = 0;
  if (job.user.empty() && absl::SimpleAtoi(FirstStatusWord(status, "Uid:"), &uid)) {
    const auto name = accounts.UserName(uid);
    job.user = name.ok() && name->has_value() ? **name : absl::StrCat("uid ", uid);
  }
  if (!job.name.empty()) return;
  const auto environment = files.Read(absl::StrCat("/proc/", pid, "/environ"), kMaxEnvironment);
  if (!environment.ok()) return;
  job.name = PlainText(VariableOf(*environment, "SLURM_JOB_NAME"), Lines::kOne, kMaxNameBytes);
}

}  // namespace

std::string JobOfCommandLine(absl::string_view command_line) {
  if (!absl::ConsumePrefix(&command_line, "slurmstepd: [")) return "";
  const absl::string_view job = command_line.substr(0, command_line.find_first_of(".]"));
  // "1235_7" is a task of an array; slurmstepd gives itself no other names.
  if (job.empty() || job.size() == command_line.size()) return "";
  for (const char c : job)
    if (!absl::ascii_isalnum(c) && c != '_' && c != '+') return "";
  return std::string(job);
}

bool IsRootsOwn(absl::string_view status) { return FirstStatusWord(status, "Uid:") == "0"; }

std::string VariableOf(absl::string_view environment, absl::string_view name) {
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, name) && absl::ConsumePrefix(&entry, "="))
      return std::string(entry);
  }
  return "";
}

absl::StatusOr<std::vector<SlurmJob>> RunningSlurmJobs(sys::FileSystem& files,
                                                       AccountDatabase& accounts) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/proc"));
  std::map<std::string, SlurmJob> jobs;
  std::map<std::string, SlurmJob*> daemons;  // by process id
  for (const std::string& pid : names) {
    if (!IsProcess(pid)) continue;
    const auto line = files.Read(absl::StrCat("/proc/", pid, "/cmdline"));
    if (!line.ok()) continue;  // it has ended meanwhile
    std::string id = JobOfCommandLine(*line);
    if (id.empty()) continue;
    const auto status = files.Read(absl::StrCat("/proc/", pid, "/status"));
    if (!status.ok() || !IsRootsOwn(*status)) continue;
    SlurmJob& job = jobs[id];
    job.id = std::move(id);
    daemons[pid] = &job;
  }
  for (const std::string& pid : names) {
    if (daemons.empty()) break;
    if (!IsProcess(pid)) continue;
    const auto status = files.Read(absl::StrCat("/proc/", pid, "/status"));
    if (!status.ok()) continue;
    const auto parent = daemons.find(std::string(FirstStatusWord(*status, "PPid:")));
    if (parent != daemons.end()) Describe(pid, *status, files, accounts, *parent->second);
  }
  std::vector<SlurmJob> all;
  for (auto& [id, job] : jobs) all.push_back(std::move(job));
  return all;
}

}  // namespace muster::agent
