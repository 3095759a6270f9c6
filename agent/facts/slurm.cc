// The installed Slurm, as it describes itself.
#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

absl::StatusOr<std::string> Ask(sys::ProcessRunner& processes, std::vector<std::string> argv) {
  sys::ProcessSpec spec;
  spec.argv = std::move(argv);
  spec.timeout = absl::Seconds(4);
  ASSIGN_OR_RETURN(const sys::ProcessResult result, processes.Run(spec));
  if (result.exit_code != 0)
    return absl::InternalError(absl::StrCat(spec.argv[0], " exited with ", result.exit_code));
  return result.output;
}

// The process of slurmd and the start that it comes from, by which others see that it was not
// restarted. Without an answer of systemd both stay unknown.
void TakeSlurmd(sys::ProcessRunner& processes, v1::SlurmFacts& slurm) {
  const absl::StatusOr<std::string> shown =
      Ask(processes, {"systemctl", "show", "--property=MainPID,InvocationID", "slurmd.service"});
  if (!shown.ok()) return;
  for (absl::string_view line : absl::StrSplit(*shown, '\n')) {
    uint32_t pid = 0;
    if (absl::ConsumePrefix(&line, "MainPID=")) {
      if (absl::SimpleAtoi(line, &pid)) slurm.set_slurmd_pid(pid);
    } else if (absl::ConsumePrefix(&line, "InvocationID=")) {
      slurm.set_slurmd_invocation(std::string(line));
    }
  }
}

// Folders of libraries, below which Slurm has its plugins: EL's, and Debian's for an architecture.
std::vector<std::string> LibraryFolders(const std::string& root) {
  std::vector<std::string> folders = {root + "/usr/lib64", root + "/usr/lib"};
  for (const std::string& name : ListNames(root + "/usr/lib"))
    if (absl::EndsWith(name, "-linux-gnu"))
      folders.push_back(absl::StrCat(root, "/usr/lib/", name));
  return folders;
}

bool HasAny(const std::vector<std::string>& folders, std::initializer_list<const char*> names) {
  for (const std::string& folder : folders)
    for (const char* const name : names) {
      std::error_code ignored;
      if (std::filesystem::exists(absl::StrCat(folder, "/", name), ignored)) return true;
    }
  return false;
}

// slurmd's plugin is a package of its own on Debian, and missing from many builds. It opens the
// driver's library by the name without a version, and finds no GPU where only the other exists.
std::string GpuAutodetect(const std::string& root) {
  const std::vector<std::string> folders = LibraryFolders(root);
  return HasAny(folders, {"slurm/gpu_nvml.so", "slurm-wlm/gpu_nvml.so"}) &&
                 HasAny(folders, {"libnvidia-ml.so"})
             ? "nvml"
             : "";
}

}  // namespace

absl::Status ProbeSlurm(const ProbeContext& context, v1::Facts& facts) {
  v1::SlurmFacts& slurm = *facts.mutable_slurm();
  for (const char* program : {"slurmd", "slurmctld", "sinfo"}) {
    const absl::StatusOr<std::string> version = Ask(*context.processes, {program, "-V"});
    if (!version.ok()) continue;  // not installed here
    // "slurm-wlm 22.05.8", elsewhere "slurm 24.11.5".
    const std::vector<std::string> words =
        absl::StrSplit(*version, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.size() >= 2) slurm.set_version(words[1]);
    if (absl::string_view(program) == "slurmd") {
      slurm.set_gpu_autodetect(GpuAutodetect(context.root));
      if (!context.is_running) break;
      TakeSlurmd(*context.processes, slurm);
      ASSIGN_OR_RETURN(const std::string said, Ask(*context.processes, {"slurmd", "-C"}));
      const std::vector<std::string> lines = absl::StrSplit(said, '\n');
      slurm.set_slurmd_c(lines.front());
    }
    break;
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
