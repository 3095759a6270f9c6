// What an exchange of the agent or of musterd leaves on the disk, from its order to its end.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/state/paths.h"
#include "common/base/version.h"

namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// The units that are exchanged, and those that carry out an order, now or after a boot.
inline constexpr char kServiceUnit[] = "muster-agent.service";
inline constexpr char kUpgradeUnit[] = "muster-agent-upgrade.service";
inline constexpr char kControllerUnit[] = "musterd.service";
inline constexpr char kControllerUpgradeUnit[] = "muster-controller-upgrade.service";

// /var/lib/muster/
// ├── greeted, greeted_by      versions of the agent that was welcomed last and of the controller
// │                            that welcomed it
// ├── upgrade/                 an exchange of the agent
// └── controller-upgrade/      an exchange of musterd, where its machine is a node
//     ├── order                version that is to run: an exchange is due or in progress
//     ├── before               version that runs now
//     ├── package-<n>.deb      its packages
//     ├── previous/            what the version of before is made of; see kept_files.h
//     ├── program              the agent that carries out an exchange of musterd
//     ├── state_folder         where the state is that the new version may change
//     ├── state/               that state, as the version of before left it; `complete` comes last
//     ├── good                 the new version has come up: nothing goes back any more
//     ├── back                 it has not, and why: the exchange is taken back
//     └── failure              the same, until it has been reported, or another attempt begins
struct UpgradePlace {
  struct File {
    std::string path;
    mode_t mode = 0;
  };

  // What is exchanged, as messages and its package name it.
  std::string what;
  std::string service;
  std::string unit;
  std::string folder;
  // The note whose text becomes the new version when that is up.
  std::string greeted;
  // How messages say that it is not.
  std::string not_greeted;
  // The version of this process; where it is the agent that is exchanged.
  std::string running;
  // What the previous version is made of, where no list of dpkg says it. Files that are not there
  // are left out.
  std::vector<File> files;
  // The program that has to outlive the exchange of its own package; "": it is among `files`.
  std::string program;
  // True: it has a state that a newer version changes and an older one cannot read.
  bool has_state = false;

  std::string Order() const { return folder + "/order"; }
  std::string Before() const { return folder + "/before"; }
  std::string Package(size_t index) const;
  std::string PreviousFolder() const { return folder + "/previous"; }
  std::string Previous(const File& file) const;
  std::string Program() const { return folder + "/program"; }
  std::string Good() const { return folder + "/good"; }
  std::string Back() const { return folder + "/back"; }
  std::string Failure() const { return folder + "/failure"; }
  std::string StateFolderNote() const { return folder + "/state_folder"; }
  std::string State() const { return folder + "/state"; }
};

UpgradePlace AgentPlace(const Paths& paths);
UpgradePlace ControllerPlace(const Paths& paths);

struct UpgradeOrder {
  std::string version;
  std::string before;
  std::vector<std::string> packages;  // files
  bool may_move = false;              // the files themselves may be taken
  // Names of the Debian packages whose files make the previous version; all are installed.
  std::vector<std::string> names = {};
  std::string state_folder = {};  // where UpgradePlace::has_state
};

// The text of a small file without its newline; "": there is none.
absl::StatusOr<std::string> ReadNote(const std::string& path, sys::FileSystem& files);
absl::Status WriteNote(const std::string& path, absl::string_view text, sys::FileSystem& files);

// Keeps what is there and the packages, then gives the order. Safe to call again.
// REQUIRES: no exchange is in progress.
absl::Status OrderUpgrade(const UpgradePlace& place, const UpgradeOrder& order,
                          sys::FileSystem& files, sys::ProcessRunner& processes);

// The packages of the order.
absl::StatusOr<std::vector<std::string>> PackagesOf(const UpgradePlace& place,
                                                    sys::FileSystem& files);

// Why the last exchange was taken back, once; "": it was not.
absl::StatusOr<std::string> TakeFailure(const UpgradePlace& place, sys::FileSystem& files);
// Before another attempt: nobody has asked why the one before it was taken back.
absl::Status ForgetFailure(const UpgradePlace& place, sys::FileSystem& files);

// Ends an exchange that has succeeded or is of no use any more; a failure stays to be read.
absl::Status ForgetUpgrade(const UpgradePlace& place, sys::FileSystem& files);

}  // namespace muster::agent
