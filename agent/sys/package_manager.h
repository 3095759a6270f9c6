// The node's package manager, in our words.
#pragma once

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
  bool held = false;                // upgrades pass it over
  bool configuration_left = false;  // removed, but its configuration files are still there
  std::string version;              // of what is installed; empty without
  // Where it was asked for: what an installation without a version would take (empty: nothing),
  // and all versions there are, newest first.
  std::string candidate;
  std::vector<std::string> available;
};

// One go of the package manager: all or, where a package fails, as much as was possible.
struct PackageTransaction {
  std::vector<std::string> install;  // "name" (the candidate) or "name=version"
  std::vector<std::string> remove;
  std::vector<std::string> hold, release;  // after the others
  bool install_recommends = false;
  bool purge = false;            // of `remove` the configuration files go too
  bool allow_downgrade = false;  // also of what the packages depend on

  bool empty() const {
    return install.empty() && remove.empty() && hold.empty() && release.empty();
  }
};

// What the package manager says while it works. Called from the thread that called it.
struct PackageObserver {
  // "unpacking munge"; percent of the whole transaction from 0 to 100, when known.
  std::function<void(absl::string_view activity, std::optional<float> percent)> on_activity;
  // A line of its output.
  std::function<void(absl::string_view line)> on_output;
};

// Thread-safe: one transaction runs at a time, others wait.
class PackageManager {
 public:
  virtual ~PackageManager() = default;
  // The state of each name; names that are nowhere are simply not installed. Candidates cost a
  // second and are looked up only when asked for. Does not wait for the lock.
  virtual absl::StatusOr<std::map<std::string, PackageStatus>> Query(
      const std::vector<std::string>& names, bool with_candidates) = 0;
  // Blocks, first until others have released the package lock (telling who holds it). Lists of
  // the repositories are brought up to date where they are older than the repositories' files.
  // Packages that are held and named here change all the same, and stay held. NotFound names the
  // packages that no repository has.
  virtual absl::Status Apply(const PackageTransaction& transaction,
                             const PackageObserver& observer) = 0;
  // Fetches the lists of the repositories, unless that was done within `max_age` and no
  // repository file changed since. An error names the repository that failed.
  virtual absl::Status Update(absl::Duration max_age, const PackageObserver& observer) = 0;
  // Whether version `a` comes before `b` in the package manager's own order.
  virtual absl::StatusOr<bool> IsOlder(const std::string& a, const std::string& b) = 0;
};

}  // namespace muster::agent
