// Parses dnf's output by our own rules. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "agent/sys/dnf/rpm_database.h"
#include "agent/sys/package_manager.h"

namespace muster::agent {

struct DnfProgress {
  std::string activity;  // "installing tool-1.0-1.el9.noarch"
  float percent = 0;     // of the whole transaction: downloads are its first third
};

// nullopt for lines that are not worth showing.
std::optional<DnfProgress> ParseDnfProgress(absl::string_view line);

// The `--queryformat` of `dnf repoquery` whose lines ParseRepoquery() reads.
extern const char kRepoqueryFormat[];
std::vector<RpmPackage> ParseRepoquery(absl::string_view output);

// The table of changes that `dnf --assumeno` prints. has_lists is false if it says that there are
// none.
PackagePreview ParseDnfPreview(absl::string_view output);

// What `dnf history info last` says of packages whose installation has not come to its end: the
// transaction was interrupted, or a script failed, which rpm itself only warns of. As Nevra().
std::vector<std::string> ParseUnfinished(absl::string_view output);

// What can be done about a failed dnf.
enum class DnfRemedy { kNone, kTryAgain, kUpdateLists, kWaitForLock };

struct DnfFailure {
  DnfRemedy remedy = DnfRemedy::kNone;
  std::vector<std::string> unknown;  // arguments that no repository has: "tool", "tool-7"
  std::vector<std::string> causes;   // one per line and only the telling ones
  std::vector<std::string> said;     // the last lines of the package script that failed
  std::string hint;                  // what an administrator can do about it; may be empty

  // Causes, hint and script, bounded; "" without causes.
  std::string Describe() const;
};

// Reads the output of a dnf that did not exit with 0, or whose packages' scripts failed: then there
// are causes, although it exited with 0.
DnfFailure ParseDnfFailure(absl::string_view output);

}  // namespace muster::agent
