#include "agent/resources/missing.h"

#include <algorithm>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/types/optional.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

// Payloads of the errors: the missing path, or the mark that packages are missing.
constexpr char kPathPayload[] = "muster/missing-path";
constexpr char kPackagesPayload[] = "muster/missing-packages";

constexpr absl::string_view kPackageFolders[] = {"/etc/apt", "/etc/yum.repos.d", "/etc/dnf"};

// Parts of the names of packages that set up repositories: cuda-keyring, mysql-apt-config.
constexpr absl::string_view kRepositoryPackages[] = {"apt", "keyring", "release", "repo",
                                                     "sources"};

// `path` is `folder` itself, or something in it.
bool IsWithin(absl::string_view path, absl::string_view folder) {
  return path == folder || folder == "/" ||
         (absl::ConsumePrefix(&path, folder) && absl::StartsWith(path, "/"));
}

// One path lies in the other: a step that makes one of them may make the other, too.
bool AreOnOneWay(absl::string_view a, absl::string_view b) {
  return IsWithin(a, b) || IsWithin(b, a);
}

// The path that a step writes. Empty: it names none.
std::string PathOf(const v1::Step& step) {
  switch (step.resource_case()) {
    case v1::Step::kFile:
      return step.file().path();
    case v1::Step::kLine:
      return step.line().path();
    case v1::Step::kDownload:
      return step.download().path();
    case v1::Step::kDirectory:
      return step.directory().path();
    case v1::Step::kSymlink:
      return step.symlink().path();
    case v1::Step::kArchive:
      return step.archive().path();
    case v1::Step::kFilesIn:
      return step.files_in().path();
    case v1::Step::kMount:
      return step.mount().path();
    case v1::Step::kContainerImage:
      return step.container_image().path();
    default:
      return "";
  }
}

bool MayBringPackages(const v1::Step& step) {
  if (step.has_package_repository() || step.has_package_module() || step.has_command()) return true;
  if (step.has_package()) {
    const auto& names = step.package().names();
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return std::any_of(std::begin(kRepositoryPackages), std::end(kRepositoryPackages),
                         [&](absl::string_view part) { return absl::StrContains(name, part); });
    });
  }
  const std::string path = PathOf(step);
  return !path.empty() &&
         std::any_of(std::begin(kPackageFolders), std::end(kPackageFolders),
                     [&](absl::string_view folder) { return IsWithin(path, folder); });
}

bool MayBringPath(const v1::Step& step, absl::string_view path) {
  switch (step.resource_case()) {
    // They may create anything.
    case v1::Step::kPackage:
    case v1::Step::kCommand:
      return true;
    // Created with all parent folders, empty.
    case v1::Step::kDirectory:
    case v1::Step::kFilesIn:
      return IsWithin(PathOf(step), path);
    // Written below existing folders.
    case v1::Step::kFile:
    case v1::Step::kLine:
    case v1::Step::kDownload:
    case v1::Step::kContainerImage:
      return PathOf(step) == path;
    // Nobody knows their content beforehand.
    case v1::Step::kSymlink:
      return IsWithin(path, PathOf(step));
    case v1::Step::kArchive:
    case v1::Step::kMount:
      return AreOnOneWay(PathOf(step), path);
    case v1::Step::kMounts:
      return std::any_of(
          step.mounts().mounts().begin(), step.mounts().mounts().end(),
          [&](const v1::MountResource& mount) { return AreOnOneWay(mount.path(), path); });
    case v1::Step::kUser:
      return step.user().create_home() &&
             (step.user().home().empty() || IsWithin(path, step.user().home()));
    // Units create RuntimeDirectory= and the like.
    case v1::Step::kUnit:
      return true;
    default:
      return false;
  }
}

}  // namespace

absl::Status MissingPackages(absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kPackagesPayload, absl::Cord());
  return status;
}

absl::Status MissingPath(absl::string_view path, absl::string_view message) {
  absl::Status status = absl::FailedPreconditionError(message);
  status.SetPayload(kPathPayload, absl::Cord(path));
  return status;
}

absl::Status CheckFolderOf(const std::string& path, sys::FileSystem& files) {
  const size_t slash = path.rfind('/');
  if (slash == 0 || slash == std::string::npos) return absl::OkStatus();
  const std::string folder = path.substr(0, slash);
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(folder));
  if (!stat.has_value()) {
    return MissingPath(folder, absl::StrCat("the directory ", folder,
                                            " does not exist; create it in an earlier task"));
  }
  // The target of a link is examined when the link is followed.
  if (stat->type == sys::FileType::kDirectory || stat->type == sys::FileType::kSymlink) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(folder, " is not a directory on the node; remove it in an earlier task"));
}

bool MayBring(const v1::Step& step, const absl::Status& error) {
  if (error.GetPayload(kPackagesPayload).has_value()) return MayBringPackages(step);
  const absl::optional<absl::Cord> path = error.GetPayload(kPathPayload);
  return !path.has_value() || MayBringPath(step, std::string(*path));
}

}  // namespace muster::agent
