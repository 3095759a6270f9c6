// What becomes of a root that was booted from the disk: it is kept when its agent has reached the
// controller, and left for the one before when it does not.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/disk/boot_entries.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::agent::disk {

class DiskTools;

// For how long a new root may try to reach the controller before the machine goes back to the one
// that it had. Several times of what an agent waits at most between two attempts.
inline constexpr absl::Duration kSettlePatience = absl::Minutes(10);

// Not thread-safe.
class Settler {
 public:
  struct Means {
    sys::FileSystem& files;
    DiskTools& tools;
    Clock& clock;
    // Written when the controller has welcomed the agent; gone since before this boot.
    std::string greeted;
    std::string work = "/run/muster-disk";
    // Hears what is happening, a line at a time.
    std::function<void(absl::string_view line)> say;
    // Tells the boot server of the entry's installation.
    std::function<absl::Status(const BootEntry& entry, absl::string_view phase)> report;
  };
  enum class End {
    kNotFromDisk,  // this boot is not from a root of ours
    kGood,         // the root stays
    kGoBack,       // the machine has to be rebooted, and will boot the other root in the end
  };

  // What `means` refers to must outlive the object.
  explicit Settler(Means means) : means_(std::move(means)) {}

  // Waits until it is decided; where there is nothing to go back to, until the controller has
  // welcomed the agent. `words` are of the kernel's command line.
  absl::StatusOr<End> Settle(const std::map<std::string, std::string>& words);

 private:
  absl::Status TellOfFailure(char running);
  absl::StatusOr<bool> IsGreeted();
  // Runs `act` with the EFI system partition mounted.
  absl::Status WithEsp(const std::function<absl::Status()>& act);
  std::string Esp() const { return means_.work + "/esp"; }

  const Means means_;
  std::string esp_device_;
};

}  // namespace muster::agent::disk
