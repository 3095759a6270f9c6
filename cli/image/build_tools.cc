#include "cli/image/build_tools.h"

#include <pwd.h>
#include <unistd.h>

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

struct Tool {
  const char* program;
  const char* package;
};
constexpr Tool kTools[] = {{"mmdebstrap", "mmdebstrap"}, {"newuidmap", "uidmap"},
                           {"bwrap", "bubblewrap"},      {"mksquashfs", "squashfs-tools"},
                           {"unshare", "util-linux"},    {"tar", "tar"}};

constexpr Tool kSigningTools[] = {{"openssl", "openssl"},
                                  {"objcopy", "binutils"},
                                  {"sbsign", "sbsigntool"},
                                  {kEfiStub, "systemd-boot-efi"},
                                  // Modules may be compressed.
                                  {"gzip", "gzip"},
                                  {"xz", "xz-utils"},
                                  {"zstd", "zstd"}};

bool IsInstalled(const std::string& program) {
  if (program[0] == '/') return ::access(program.c_str(), R_OK) == 0;
  for (const absl::string_view folder : absl::StrSplit(sys::kStandardPath, ':')) {
    if (::access(absl::StrCat(folder, "/", program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

// `what`: "images are built".
absl::Status CheckTools(absl::Span<const Tool> tools, absl::string_view what) {
  std::set<std::string> missing;
  for (const Tool& tool : tools) {
    if (!IsInstalled(tool.program)) missing.insert(tool.package);
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      what, " with programs that this machine does not have; as root: ", "apt-get install ",
      absl::StrJoin(missing, " ")));
}

absl::Status CheckIds(const std::string& path, const std::string& user) {
  sys::RealFileSystem files;
  const absl::StatusOr<std::string> text = files.Read(path);
  if (text.ok() && HasSubordinateIds(*text, user, ::getuid())) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      user, " has fewer than ", kNeededIds, " subordinate ids in ", path,
      ", to which the files of a root belong; as root: usermod --add-subuids 1000000-1065535 "
      "--add-subgids 1000000-1065535 ",
      user, " (or another range that nobody has)"));
}

}  // namespace

bool HasSubordinateIds(const std::string& text, const std::string& user, unsigned uid) {
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipWhitespace())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ':');
    int64_t count = 0;
    if (fields.size() == 3 && (fields[0] == user || fields[0] == absl::StrCat(uid)) &&
        absl::SimpleAtoi(fields[2], &count) && count >= kNeededIds)
      return true;
  }
  return false;
}

absl::Status CheckBuildTools() {
  RETURN_IF_ERROR(CheckTools(kTools, "images are built"));
  const passwd* const account = ::getpwuid(::getuid());
  if (account == nullptr)
    return absl::FailedPreconditionError(
        absl::StrCat("the user ", ::getuid(), " has no account on this machine"));
  const std::string user = account->pw_name;
  RETURN_IF_ERROR(CheckIds("/etc/subuid", user));
  RETURN_IF_ERROR(CheckIds("/etc/subgid", user));
  sys::RealProcessRunner runner;
  return CheckNamespaces(runner);
}

absl::Status CheckNamespaces(sys::ProcessRunner& runner) {
  // Mounting needs rights in the namespace, which AppArmor takes away on Ubuntu 24.04.
  sys::ProcessSpec spec{
      .argv = {"unshare", "--user", "--map-root-user", "--map-auto", "--mount", "true"}};
  spec.timeout = absl::Seconds(30);
  const absl::Status status = sys::RunChecked(runner, spec).status();
  if (status.ok()) return status;
  return absl::FailedPreconditionError(absl::StrCat(
      "this machine gives you no namespace in which you are root (", status.message(),
      "): images are built on Debian 12 or later and Ubuntu 24.04 or later, on Ubuntu as root or "
      "after, as root: sysctl kernel.apparmor_restrict_unprivileged_userns=0"));
}

absl::Status CheckSigningTools() { return CheckTools(kSigningTools, "images are signed"); }

}  // namespace muster::cli
