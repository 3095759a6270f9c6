#include "agent/sys/package_family.h"

#include <iterator>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

struct FamilyRow {
  absl::string_view id;
  PackageFamily family;
};
constexpr FamilyRow kFamilies[] = {
    {"debian", PackageFamily::kApt},    {"ubuntu", PackageFamily::kApt},
    {"rhel", PackageFamily::kDnf},      {"fedora", PackageFamily::kDnf},
    {"centos", PackageFamily::kDnf},    {"rocky", PackageFamily::kDnf},
    {"almalinux", PackageFamily::kDnf},
};

bool Exists(sys::FileSystem& files, const std::string& path) {
  const auto stat = files.Stat(path);
  return stat.ok() && stat->has_value();
}

}  // namespace

PackageFamily FamilyOf(absl::string_view os_release, bool has_dpkg, bool has_rpm) {
  // What the system is comes before what it is like.
  for (const absl::string_view wanted : {"ID", "ID_LIKE"})
    for (const absl::string_view line : absl::StrSplit(os_release, '\n')) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      if (parts.first != wanted) continue;
      for (const absl::string_view id :
           absl::StrSplit(parts.second, absl::ByAnyChar(" \"'\r"), absl::SkipEmpty()))
        for (const FamilyRow& row : kFamilies)
          if (row.id == id) return row.family;
    }
  return has_rpm && !has_dpkg ? PackageFamily::kDnf : PackageFamily::kApt;
}

PackageFamily DetectPackageFamily(sys::FileSystem& files) {
  auto release = files.Read("/etc/os-release");
  if (!release.ok()) release = files.Read("/usr/lib/os-release");
  return FamilyOf(release.value_or(""), Exists(files, "/var/lib/dpkg/status"),
                  Exists(files, "/var/lib/rpm") || Exists(files, "/usr/lib/sysimage/rpm"));
}

}  // namespace muster::agent
