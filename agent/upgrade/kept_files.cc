#include "agent/upgrade/kept_files.h"

#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {
namespace {

std::string ListOf(const std::string& folder) { return folder + "/list"; }
std::string KeptAt(const std::string& folder, absl::string_view path) {
  return absl::StrCat(folder, "/root", path);
}

// The paths that dpkg has for the package, folders among them.
absl::StatusOr<std::vector<std::string>> PathsOf(const std::string& package,
                                                 sys::ProcessRunner& processes) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   sys::RunChecked(processes, {.argv = {"dpkg-query", "--listfiles", package},
                                               .timeout = absl::Minutes(1),
                                               .max_output = size_t{4} << 20}));
  std::vector<std::string> paths;
  for (const absl::string_view line : absl::StrSplit(result.out, '\n', absl::SkipEmpty()))
    if (absl::StartsWith(line, "/") && line != "/.") paths.emplace_back(line);
  return paths;
}

absl::Status MakeFolderOf(const std::string& path, sys::FileSystem& files) {
  return files.MakeDirectory(path.substr(0, path.rfind('/')), 0755);
}

}  // namespace

absl::Status KeepPackageFiles(const std::vector<std::string>& names, const std::string& folder,
                              sys::FileSystem& files, sys::ProcessRunner& processes) {
  std::string list;
  for (const std::string& name : names) absl::StrAppend(&list, "package ", name, "\n");
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const std::vector<std::string> paths, PathsOf(name, processes));
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(path));
      if (!stat.has_value()) continue;
      const std::string kept = KeptAt(folder, path);
      if (stat->type == sys::FileType::kRegular) {
        RETURN_IF_ERROR(MakeFolderOf(kept, files));
        RETURN_IF_ERROR(sys::PlaceFile(path, kept, {.mode = stat->mode}, /*may_move=*/false));
        absl::StrAppendFormat(&list, "file %04o %s\n", stat->mode, path);
      } else if (stat->type == sys::FileType::kSymlink) {
        RETURN_IF_ERROR(MakeFolderOf(kept, files));
        ASSIGN_OR_RETURN(const std::string target, files.ReadLink(path));
        RETURN_IF_ERROR(files.MakeSymlink(target, kept));
        absl::StrAppend(&list, "link ", path, "\n");
      }
    }
  }
  return files.WriteAtomically(ListOf(folder), list, {.mode = 0600});
}

absl::Status PutBackPackageFiles(const std::string& folder, sys::FileSystem& files,
                                 sys::ProcessRunner& processes) {
  const absl::StatusOr<std::string> list = files.Read(ListOf(folder));
  if (absl::IsNotFound(list.status())) return absl::OkStatus();
  RETURN_IF_ERROR(list.status());
  std::vector<std::string> packages;
  std::set<std::string> kept;
  for (absl::string_view line : absl::StrSplit(*list, '\n', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&line, "package ")) {
      packages.emplace_back(line);
    } else if (absl::ConsumePrefix(&line, "link ")) {
      const std::string path(line);
      ASSIGN_OR_RETURN(const std::string target, files.ReadLink(KeptAt(folder, path)));
      RETURN_IF_ERROR(MakeFolderOf(path, files));
      RETURN_IF_ERROR(files.MakeSymlink(target, path));
      kept.insert(path);
    } else if (absl::ConsumePrefix(&line, "file ")) {
      const size_t space = line.find(' ');
      uint32_t mode = 0;
      for (const char digit : line.substr(0, space))
        mode = mode * 8 + static_cast<uint32_t>(digit - '0');
      const std::string path(line.substr(space + 1));
      RETURN_IF_ERROR(MakeFolderOf(path, files));
      RETURN_IF_ERROR(
          sys::PlaceFile(KeptAt(folder, path), path, {.mode = mode}, /*may_move=*/false));
      kept.insert(path);
    }
  }
  // What the new version has brought besides. A package that dpkg does not know has brought none.
  for (const std::string& package : packages) {
    const absl::StatusOr<std::vector<std::string>> paths = PathsOf(package, processes);
    if (!paths.ok()) continue;
    for (const std::string& path : *paths) {
      if (kept.contains(path)) continue;
      ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(path));
      if (stat.has_value() && stat->type != sys::FileType::kDirectory)
        RETURN_IF_ERROR(files.Remove(path, /*recursive=*/false));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
