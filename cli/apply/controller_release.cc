#include "cli/apply/controller_release.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kController[] = "muster-controller";
constexpr char kCli[] = "muster-cli";
constexpr char kAgent[] = "muster-agent";
constexpr absl::Duration kReadTime = absl::Minutes(1);

absl::StatusOr<std::vector<std::string>> PackageFiles(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (absl::StartsWith(name, "muster-") && absl::EndsWith(name, ".deb"))
        files.push_back(it->path().string());
    }
    if (error) return absl::UnavailableError(absl::StrCat(path, ": ", error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

// "Package: muster-cli\nVersion: 0.2.0\n"
struct PackageFields {
  std::string name, version;
};
absl::StatusOr<PackageFields> ReadFields(const std::string& file, sys::ProcessRunner& processes) {
  const absl::StatusOr<sys::ProcessResult> result = sys::RunChecked(
      processes,
      {.argv = {"dpkg-deb", "--field", fs::absolute(file).string(), "Package", "Version"},
       .timeout = kReadTime});
  if (absl::IsNotFound(result.status()))
    return absl::FailedPreconditionError(
        "dpkg-deb is not installed here: run this on a machine with Debian's package manager, such "
        "as the controller's");
  RETURN_IF_ERROR(Annotate(result.status(), file));
  PackageFields fields;
  for (const absl::string_view line : absl::StrSplit(result->out, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(": ", 1));
    if (field.first == "Package") fields.name = std::string(field.second);
    if (field.first == "Version") fields.version = std::string(field.second);
  }
  return fields;
}

// As Debian's policy has them; they become a part of a playbook.
bool IsVersion(absl::string_view version) {
  return !version.empty() && version.size() <= 64 && absl::ascii_isdigit(version[0]) &&
         std::all_of(version.begin(), version.end(), [](char c) {
           return absl::ascii_isalnum(c) || absl::StrContains(".+-~:", c);
         });
}

}  // namespace

absl::StatusOr<ControllerRelease> ReadRelease(const std::vector<std::string>& paths,
                                              sys::ProcessRunner& processes) {
  ASSIGN_OR_RETURN(const std::vector<std::string> files, PackageFiles(paths));
  ControllerRelease release;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const PackageFields fields, ReadFields(file, processes));
    if (fields.name == kAgent) continue;
    std::string* place = fields.name == kController ? &release.controller_package
                         : fields.name == kCli      ? &release.cli_package
                                                    : nullptr;
    if (place == nullptr)
      return absl::InvalidArgumentError(
          absl::StrCat(file, " is of '", fields.name, "', which is not a part of the controller"));
    if (!place->empty())
      return absl::InvalidArgumentError(
          absl::StrCat(*place, " and ", file, " are both of ", fields.name, "; name one"));
    if (!IsVersion(fields.version))
      return absl::InvalidArgumentError(absl::StrCat(file, " has no version of Debian's form"));
    if (!release.version.empty() && release.version != fields.version)
      return absl::InvalidArgumentError(absl::StrCat("the packages are of two versions, ",
                                                     release.version, " and ", fields.version,
                                                     "; name those of one"));
    release.version = fields.version;
    *place = file;
  }
  if (release.controller_package.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("no package of ", kController, " is among the files"));
  return release;
}

absl::StatusOr<bool> IsOlder(const std::string& version, const std::string& other,
                             sys::ProcessRunner& processes) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   processes.Run({.argv = {"dpkg", "--compare-versions", version, "lt", other},
                                  .timeout = kReadTime}));
  if (result.signal == 0 && result.exit_code <= 1) return result.exit_code == 0;
  return absl::InternalError(absl::StrCat("dpkg cannot compare ", version, " with ", other));
}

std::map<std::string, std::string> UpdateBundle(const std::string& version,
                                                std::string controller_package,
                                                std::string cli_package, bool allow_downgrade) {
  const std::string role = "playbooks/roles/controller_update/";
  const std::string folder = "/var/lib/muster/controller-packages";
  std::map<std::string, std::string> files;
  std::string tasks = absl::StrCat(
      "- name: folder of the packages\n"
      "  directory: {path: ",
      folder, ", owner: root, group: root, mode: \"0700\"}\n");
  std::string paths;
  const auto add = [&](const char* name, std::string content) {
    if (content.empty()) return;
    const std::string path = absl::StrCat(folder, "/", name, ".deb");
    absl::StrAppend(&tasks, "- name: package of ", name, "\n  file: {path: ", path,
                    ", source: ", name, ".deb, owner: root, group: root, mode: \"0600\"}\n");
    absl::StrAppend(&paths, paths.empty() ? "" : ", ", path);
    files[absl::StrCat(role, "files/", name, ".deb")] = std::move(content);
  };
  add(kController, std::move(controller_package));
  add(kCli, std::move(cli_package));
  absl::StrAppend(&tasks, "- name: musterd ", version, "\n  controller: {version: \"", version,
                  "\", packages: [", paths,
                  "], allow_downgrade: ", allow_downgrade ? "true" : "false", "}\n");
  files[role + "tasks/main.yaml"] = std::move(tasks);
  files[std::string(kControllerUpdatePath)] =
      "# By `muster controller update`: musterd on its own node, and nothing else.\n"
      "- play: controller\n"
      "  hosts: all\n"
      "  roles: [controller_update]\n";
  return files;
}

std::string ControllerNode(absl::string_view address, const v1::ListNodesResponse& nodes) {
  const absl::string_view host = address.substr(0, address.rfind(':'));
  std::string only_login;
  size_t logins = 0;
  for (const v1::Node& node : nodes.nodes()) {
    if (node.name() == host || node.address() == host) return node.name();
    if (node.role() != "login") continue;
    ++logins;
    only_login = node.name();
  }
  return logins == 1 ? only_login : "";
}

}  // namespace muster::cli
