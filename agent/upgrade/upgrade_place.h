// What an exchange of the agent's program leaves on the disk, from its order to its end.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/state/paths.h"
#include "common/base/version.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// The agent's own unit, and the one that carries out an order, now or after a boot.
inline constexpr char kServiceUnit[] = "muster-agent.service";
inline constexpr char kUpgradeUnit[] = "muster-agent-upgrade.service";

// /var/lib/muster/
// ├── greeted              version of the agent that the controller welcomed last
// └── upgrade/
//     ├── order            version that is to run: an exchange is due or in progress
//     ├── package.deb      its package
//     ├── previous/<name>  the files of the agent that ordered it
//     └── failure          why the exchange is taken back
struct UpgradePlace {
  struct File {
    std::string path;
    unsigned mode = 0;
  };

  Paths paths = Paths();
  // The version of this process.
  std::string running = kVersion;
  // What the previous agent is made of. Files that are not there are left out.
  std::vector<File> files = {
      {"/usr/bin/muster-agent", 0755},
      {"/usr/bin/muster-burnin", 0755},
      {"/usr/lib/systemd/system/muster-agent.service", 0644},
      {"/usr/lib/systemd/system/muster-agent-upgrade.service", 0644},
  };

  std::string Greeted() const { return paths.Greeted(); }
  std::string Folder() const { return paths.UpgradeDirectory(); }
  std::string Order() const { return Folder() + "/order"; }
  std::string Package() const { return Folder() + "/package.deb"; }
  std::string Previous(const File& file) const;
  std::string Failure() const { return Folder() + "/failure"; }
};

// The text of a small file without its newline; "": there is none.
absl::StatusOr<std::string> ReadNote(const std::string& path, sys::FileSystem& files);

// Keeps the present files and the package, the file `package`, then gives the order. `may_move`:
// the file itself may be taken. Safe to call again.
absl::Status OrderUpgrade(const UpgradePlace& place, absl::string_view version,
                          const std::string& package, bool may_move, sys::FileSystem& files);

// Why the last exchange was taken back, once; "": it was not.
absl::StatusOr<std::string> TakeFailure(const UpgradePlace& place, sys::FileSystem& files);

// Ends an exchange that has succeeded or is of no use any more.
absl::Status ForgetUpgrade(const UpgradePlace& place, sys::FileSystem& files);

}  // namespace muster::agent
