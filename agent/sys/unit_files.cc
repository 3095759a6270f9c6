#include "agent/sys/unit_files.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

// The first that has a file wins; see systemd.unit(5).
constexpr const char* kFolders[] = {"/etc/systemd/system", "/run/systemd/system",
                                    "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
                                    "/lib/systemd/system"};

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The unit itself and, for "each@one.service", its template "each@.service".
std::vector<std::string> NamesOf(const std::string& unit) {
  const size_t at = unit.find('@'), dot = unit.rfind('.');
  if (at == std::string::npos || dot == std::string::npos || dot < at) return {unit};
  return {unit, absl::StrCat(unit.substr(0, at + 1), unit.substr(dot))};
}

// Links are not files of the unit: they are an alias, a mask, an enabled instance.
bool IsFile(sys::FileSystem& files, const std::string& path) {
  const auto stat = files.Stat(path);
  return stat.ok() && stat->has_value() && (*stat)->type == sys::FileType::kRegular;
}

// "/lib" is "/usr/lib" if the two are merged.
bool IsSamePlace(const std::string& a, const std::string& b) {
  return a == b || absl::StrCat("/usr", a) == b || a == absl::StrCat("/usr", b);
}

}  // namespace

bool HasUnreadUnitFiles(sys::FileSystem& files, const std::string& unit,
                        const std::string& fragment, const std::vector<std::string>& drop_ins) {
  if (fragment.empty()) return false;  // systemd will look for it
  for (const char* folder : kFolders) {
    const std::string path = absl::StrCat(folder, "/", BaseName(fragment));
    if (IsSamePlace(path, fragment)) break;
    if (IsFile(files, path)) return true;
  }
  for (const std::string& name : NamesOf(unit))
    for (const char* folder : kFolders) {
      const std::string drop_in_folder = absl::StrCat(folder, "/", name, ".d");
      const auto names = files.List(drop_in_folder);
      if (!names.ok()) continue;
      for (const std::string& file : *names) {
        const bool read =
            std::any_of(drop_ins.begin(), drop_ins.end(),
                        [&file](const std::string& path) { return BaseName(path) == file; });
        if (!read && absl::EndsWith(file, ".conf") &&
            IsFile(files, absl::StrCat(drop_in_folder, "/", file)))
          return true;
      }
    }
  return false;
}

}  // namespace muster::agent
