// The node's package manager, in our own terms.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::agent {

struct PackageStatus {
  bool installed = false;           // unpacked and configured
  bool provided = false;            // a virtual package that an installed one provides
  bool half_done = false;           // neither: a transaction was interrupted, or its script fails
  bool held = false;                // upgrades skip it
  bool configuration_left = false;  // removed, but its configuration files are still there
  std::string version;              // of the installed package; empty without one
  // Set for packages that stay beside other versions of themselves, such as kernels with dnf: the
  // older versions that are installed, too.
  std::vector<std::string> older;
  // Set if it was asked for: the version that an installation without a version would take (empty:
  // none), and all available versions, newest first.
  std::string candidate;
  std::vector<std::string> available;
};

// The package part of "name=version".
inline std::string NameOf(const std::string& item) { return item.substr(0, item.find('=')); }

// One transaction of the package manager: all of it or, if a package fails, as much as possible.
struct PackageTransaction {
  std::vector<std::string> install;  // "name" (the candidate) or "name=version"
  std::vector<std::string> remove;
  std::vector<std::string> hold, release;  // after the others
  bool install_recommends = false;
  bool purge = false;            // also removes the configuration files of `remove`
  bool allow_downgrade = false;  // also of dependencies
  // `install` names newer versions of installed packages: those that came as dependencies stay so.
  bool only_upgrade = false;

  bool empty() const {
    return install.empty() && remove.empty() && hold.empty() && release.empty();
  }
};

// A newer version of an installed package.
struct PackageUpgrade {
  std::string name, installed, offered;
};

enum class UpgradeScope { kAll, kSecurity };

// The effects of a transaction, as the package manager predicts them.
struct PackagePreview {
  // False: there are no repository lists to look it up in, and nothing else is set.
  bool has_lists = false;
  // Packages that would be installed or upgraded, including dependencies, and their new versions.
  // Empty if the package manager sees no way yet: apply first repairs broken packages.
  std::map<std::string, std::string> versions;
  std::vector<std::string> removed;  // with the packages that depend on them
  uint64_t bytes = 0;                // total size of the archives of `versions`; 0: not known
};

// Notified while the package manager works, in the thread that called it.
struct PackageObserver {
  // "unpacking munge"; percent of the whole transaction from 0 to 100, when known.
  std::function<void(absl::string_view activity, std::optional<float> percent)> on_activity;
  // A line of its output.
  std::function<void(absl::string_view line)> on_output;
  // Whether a wait for the packages of others should end, with Cancelled.
  std::function<bool()> is_stopping;
};

// For the people who watch, and for the step's record.
inline void Tell(const PackageObserver& observer, absl::string_view what) {
  if (observer.on_activity) observer.on_activity(what, std::nullopt);
  if (observer.on_output) observer.on_output(what);
}

// The tools that own a node's packages, and the form in which they know repositories.
enum class PackageFamily { kApt, kDnf };

// Thread-safe: one transaction runs at a time, others wait.
class PackageManager {
 public:
  virtual ~PackageManager() = default;
  virtual PackageFamily family() const = 0;
  // The state of each name; names that exist nowhere are simply not installed. Candidates take a
  // second and are looked up only when asked for. Does not wait for the lock.
  virtual absl::StatusOr<std::map<std::string, PackageStatus>> Query(
      const std::vector<std::string>& names, bool with_candidates) = 0;
  // Blocks, first until others have released the package lock (reporting who holds it). Repository
  // lists are refreshed if they are older than the repositories' files. Packages that are held and
  // named here change nevertheless, and stay held. NotFound names the packages that no repository
  // has.
  virtual absl::Status Apply(const PackageTransaction& transaction,
                             const PackageObserver& observer) = 0;
  // The installed packages that the repositories' lists, as they are, offer in newer versions, in
  // the order of their names; without those on hold, and those whose upgrade would remove another.
  virtual absl::StatusOr<std::vector<PackageUpgrade>> Upgrades(UpgradeScope scope) = 0;
  // What Apply() would do; changes no package. If a name is in no list, and the lists are not
  // fresh, they are fetched first. NotFound as for Apply().
  virtual absl::StatusOr<PackagePreview> Preview(const PackageTransaction& transaction) = 0;
  // Fetches the repository lists, unless that was done within `max_age` and no repository file has
  // changed since. An error names the repository that failed.
  virtual absl::Status Update(absl::Duration max_age, const PackageObserver& observer) = 0;
  // Whether version `a` comes before `b` in the package manager's own order.
  virtual absl::StatusOr<bool> IsOlder(const std::string& a, const std::string& b) = 0;
  // The enabled stream of a module; "": none. FailedPrecondition where packages have no modules.
  virtual absl::StatusOr<std::string> ModuleStream(const std::string& module) = 0;
  // Enables that stream in place of another, or none with "". Changes no package.
  virtual absl::Status SetModuleStream(const std::string& module, const std::string& stream,
                                       const PackageObserver& observer) = 0;
};

}  // namespace muster::agent
