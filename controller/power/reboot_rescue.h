// Nodes that do not come back from a reboot: the last resort, where the inventory allows it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/power/own_machine.h"
#include "controller/power/power_control.h"
#include "controller/store/tables.h"

namespace muster::controller {
class AgentSessions;
class Inventory;
class InventorySource;
class Store;
}  // namespace muster::controller

namespace muster::controller::power {

// Which of the open reboots are to be ended by a power cycle now: those of nodes that are away, and
// have been for longer than their bmc_cycle_after, also since the last step of a boot from the
// network that was seen of them (`last_steps`, by name): an image that is written to a disk takes
// two starts of the firmware. A reboot whose time came before `since`, whatever was seen of it, is
// left alone: an earlier process may have cycled it. So is the controller's own machine. Pure.
std::vector<RebootRecord> PlanRescues(const std::vector<RebootRecord>& open,
                                      const Inventory& inventory, const OwnMachine& own,
                                      const std::function<bool(const std::string& uuid)>& is_up,
                                      const std::map<std::string, absl::Time>& last_steps,
                                      absl::Time since, absl::Time now);

// Power cycles such nodes, each at most once for a reboot, as the controller. The reboot's run
// waits for the node meanwhile and has it drained; Slurm is asked all the same. A try in which
// nothing was done, because Slurm or the BMC does not answer for instance, is followed by others.
class RebootRescue {
 public:
  static constexpr absl::Duration kInterval = absl::Seconds(10);
  // From the first try to the second; to the third it is twice as long, and so on, as each try
  // leaves entries in the audit log.
  static constexpr absl::Duration kTryGap = absl::Minutes(1);

  // The references must outlive the object. `on_reboot` is told at each look which nodes are away
  // for a reboot; it does not block. `warn` writes to the log.
  RebootRescue(Store& store, AgentSessions& sessions, InventorySource& inventory, Clock& clock,
               PowerControl& control, OwnMachine own,
               std::function<void(const std::string& node)> on_reboot,
               std::function<void(absl::string_view)> warn);

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }

 private:
  // The tries for one reboot.
  struct Tries {
    int count = 0;
    bool is_open = true;  // nothing was done to the machine yet
    absl::Time next_at = absl::InfinitePast();
    std::shared_ptr<PowerWatch> watch;  // of the last one; nullptr: what became of it is known
  };

  absl::Time Step();
  // Looks what has become of the last try.
  void Follow(const std::string& node, Tries& tries);
  absl::Status Look(absl::Time now);
  struct Open {
    std::vector<RebootRecord> reboots;
    std::map<std::string, absl::Time> last_steps;  // see PlanRescues()
  };
  absl::StatusOr<Open> OpenReboots();

  Store& store_;
  AgentSessions& sessions_;
  InventorySource& inventory_;
  Clock& clock_;
  PowerControl& control_;
  const OwnMachine own_;
  const std::function<void(const std::string& node)> on_reboot_;
  const std::function<void(absl::string_view)> warn_;
  const absl::Time since_;
  std::map<std::string, Tries> tries_;  // by permit; the worker's own
  Worker worker_;
};

}  // namespace muster::controller::power
