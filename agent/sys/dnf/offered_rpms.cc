#include "agent/sys/dnf/offered_rpms.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/sys/dnf/dnf_arguments.h"
#include "agent/sys/dnf/dnf_output.h"
#include "agent/sys/dnf/repositories.h"
#include "agent/sys/dnf/rpm_version.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "common/sys/process/process.h"

namespace muster::agent {

OfferedRpms::OfferedRpms(sys::FileSystem& files, sys::ProcessRunner& processes, std::string machine)
    : files_(files), processes_(processes), machine_(std::move(machine)) {}

std::map<std::string, int> OfferedRpms::Priorities() const {
  std::map<std::string, int> priorities;
  const auto names = files_.List(kRepositoryFolder);
  if (!names.ok()) return priorities;
  for (const std::string& name : *names) {
    if (!absl::EndsWith(name, ".repo")) continue;
    if (const auto text = files_.Read(absl::StrCat(kRepositoryFolder, "/", name)); text.ok())
      ReadPriorities(*text, priorities);
  }
  return priorities;
}

absl::StatusOr<std::map<std::string, std::vector<RpmPackage>>> OfferedRpms::Find(
    const std::vector<std::string>& names) const {
  std::vector<std::string> arguments = {"repoquery", "--available", "--queryformat",
                                        kRepoqueryFormat};
  arguments.insert(arguments.end(), names.begin(), names.end());
  ASSIGN_OR_RETURN(
      const sys::ProcessResult result,
      sys::RunChecked(processes_, {.argv = DnfQuery(arguments), .max_output = kMaxQueryOutput}));
  const std::map<std::string, int> priorities = Priorities();
  std::map<std::string, std::vector<RpmPackage>> available;
  const std::vector<RpmPackage> packages = ParseRepoquery(result.out);
  for (const std::string& name : names) {
    const auto [bare, arch] = SplitArchitecture(name);
    std::vector<RpmPackage>& found = available[name];
    for (const RpmPackage& package : packages) {
      const bool fits =
          arch.empty() ? machine_.empty() || package.arch == machine_ || package.arch == "noarch"
                       : package.arch == arch;
      if (fits && package.Names().count(bare) > 0) found.push_back(package);
    }
    const auto priority = [&priorities](const RpmPackage& package) {
      const auto it = priorities.find(package.repository);
      return it == priorities.end() ? kDefaultPriority : it->second;
    };
    std::stable_sort(found.begin(), found.end(), [&](const RpmPackage& a, const RpmPackage& b) {
      const int first = priority(a), second = priority(b);
      return first != second ? first < second : CompareRpmVersions(a.version, b.version) > 0;
    });
  }
  return available;
}

}  // namespace muster::agent
