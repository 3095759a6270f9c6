// Operating system, kernel, boot and virtualization.
#include <sys/utsname.h>

#include <filesystem>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "agent/sys/boot_words.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/newest_kernel.h"
#include "common/sys/process/process.h"
#include "google/protobuf/timestamp.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// os-release(5): shell-like assignments; values may be quoted.
std::map<std::string, std::string> ParseOsRelease(absl::string_view text) {
  std::map<std::string, std::string> values;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    absl::string_view value = absl::StripAsciiWhitespace(parts.second);
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    values[std::string(parts.first)] = std::string(value);
  }
  return values;
}

// dpkg's name for the architecture that uname reports.
std::string PackageArchitecture(absl::string_view machine) {
  static const std::map<absl::string_view, std::string> kWords = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"ppc64le", "ppc64el"}};
  const auto it = kWords.find(machine);
  return it == kWords.end() ? std::string(machine) : it->second;
}

// Seconds since the epoch at which the kernel started: "btime" of /proc/stat; 0: unknown.
int64_t BootTime(const std::string& root) {
  const absl::StatusOr<std::string> stat = ReadText(root + "/proc/stat");
  if (!stat.ok()) return 0;
  for (absl::string_view line : absl::StrSplit(*stat, '\n')) {
    int64_t seconds = 0;
    if (absl::ConsumePrefix(&line, "btime ") && absl::SimpleAtoi(line, &seconds)) return seconds;
  }
  return 0;
}

std::string Virtualization(sys::ProcessRunner& processes) {
  sys::ProcessSpec spec;
  spec.argv = {"systemd-detect-virt"};
  spec.timeout = absl::Seconds(3);
  const absl::StatusOr<sys::ProcessResult> result = processes.Run(spec);
  // Exits 1 and prints "none" on bare metal.
  return result.ok() ? std::string(absl::StripAsciiWhitespace(result->output)) : "";
}

std::string NextKernel(const std::string& root) {
  return sys::NewestKernel(ListNames(root + "/boot"),
                           [&](const std::string& release) -> absl::StatusOr<bool> {
                             std::error_code ignored;
                             return std::filesystem::exists(
                                 absl::StrCat(root, "/lib/modules/", release), ignored);
                           })
      .value_or("");
}

}  // namespace

absl::Status ProbeOs(const ProbeContext& context, v1::Facts& facts) {
  absl::StatusOr<std::string> release = ReadText(context.root + "/etc/os-release");
  if (!release.ok()) release = ReadText(context.root + "/usr/lib/os-release");
  RETURN_IF_ERROR(release.status());
  const std::map<std::string, std::string> values = ParseOsRelease(*release);
  const auto value = [&values](const char* key) {
    const auto it = values.find(key);
    return it == values.end() ? std::string() : it->second;
  };
  utsname kernel{};
  if (uname(&kernel) != 0) return ErrnoStatus(errno, "uname");

  v1::OsFacts& os = *facts.mutable_os();
  os.set_id(value("ID"));
  os.set_version_id(value("VERSION_ID"));
  os.set_codename(value("VERSION_CODENAME"));
  os.set_pretty_name(value("PRETTY_NAME"));
  os.set_architecture(kernel.machine);
  os.set_package_architecture(PackageArchitecture(kernel.machine));
  os.set_next_kernel(NextKernel(context.root));
  if (!context.is_running) return absl::OkStatus();
  os.set_kernel(kernel.release);
  os.set_hostname(kernel.nodename);
  os.set_boot_id(ReadValue(context.root + "/proc/sys/kernel/random/boot_id").value_or(""));
  os.set_virtualization(Virtualization(*context.processes));
  sys::RealFileSystem files;
  os.set_kernel_arguments(ReadBootArguments(files, context.root).value_or(""));
  if (const int64_t boot = BootTime(context.root); boot != 0)
    os.mutable_booted_at()->set_seconds(boot);
  return absl::OkStatus();
}

}  // namespace muster::agent
