// What may run in a rack at once without drawing more than the rack carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/checks/catalog.h"

namespace muster::controller::validation {

// A node of which nothing is known: two processors without work, and with it.
inline constexpr double kDefaultIdleWatts = 250;
inline constexpr double kDefaultCpuWatts = 600;

// What is known about a node's power before anything was measured.
struct NodePowerFacts {
  std::optional<double> full_watts;  // inventory: node_power_watts, measured at full load
  std::optional<double> idle_watts;  // inventory: node_idle_watts
  std::vector<double> gpu_limits;    // enforced limits of its GPUs
};

// What a node is predicted to draw, in watts.
struct NodePower {
  double idle = kDefaultIdleWatts;
  double cpu = kDefaultCpuWatts;  // processors and network under load, GPUs without work
  double full = kDefaultCpuWatts;

  double Of(checks::Load load) const;
};
// full: as the inventory says, or what the processors draw and the GPUs' limits together. cpu: full
// without the GPUs, but full where their limits are unknown.
NodePower PredictPower(const NodePowerFacts& facts);

struct RackPower {
  std::string name;
  double limit_watts = 0;   // 0: none
  double others_watts = 0;  // nodes of the rack that are not tested, whatever they do
};

// How load is added to a rack: a power supply that is fine with a load may not be with its jump. A
// step ends when nothing was added for the interval, so that no interval holds parts of two.
struct PowerRamp {
  double step_share = 1.0 / 3;  // of the limit; one check may always be added
  absl::Duration interval = absl::Seconds(5);
};

// Keeps the sum of what is predicted for a rack under its limit. A node draws what its most
// demanding check does: `full` is everything of it at work. A node that was seen to draw more than
// predicted is predicted to do so again; less is no reason for a lower prediction, as the next
// check may load it more. Not thread-safe.
class PowerBudget {
 public:
  struct Member {
    std::string node;
    checks::Load load = checks::Load::kIdle;
  };

  explicit PowerBudget(std::vector<RackPower> racks, PowerRamp ramp = {});
  // A node under test; `rack` may be empty or unknown, which is no limit. Once a node.
  void AddNode(absl::string_view node, absl::string_view rack, const NodePower& power);

  // Why these could not start even in racks without other work, with the values; "": they could.
  std::string WhyNever(const std::vector<Member>& members) const;
  // Reserves for all of `members` under `id`, which is new, or for none. False: not now.
  bool TryStart(absl::string_view id, const std::vector<Member>& members, absl::Time now);
  // Reserves for what is running already, whatever the limit.
  void Resume(absl::string_view id, const std::vector<Member>& members);
  // Gives back what `id` had; an unknown id is fine.
  void Finish(absl::string_view id);

  // What a node drew under the load that it has. Returns the ids to be stopped so that its rack
  // keeps its limit, the newest first: they stay reserved until Finish(). An id is named once.
  std::vector<std::string> Measured(absl::string_view node, double watts);

  // Predicted for all of the rack, now. 0 for an unknown one.
  double RackWatts(absl::string_view rack) const;

 private:
  static constexpr size_t kNoRack = static_cast<size_t>(-1);

  struct Rack {
    RackPower power;
    std::vector<std::string> nodes;  // under test
    double reserved = 0;             // others and all nodes
    double idle = 0;                 // others, and nodes without tests
    double step_watts = 0;           // added in this step
    absl::Time last_added = absl::InfinitePast();
  };
  struct TestedNode {
    size_t rack = kNoRack;
    NodePower predicted;
    std::map<checks::Load, double> measured;
    std::map<std::string, checks::Load, std::less<>> loads;  // by id
  };
  struct Reservation {
    uint64_t number = 0;  // grows with time
    std::vector<Member> members;
    bool stopping = false;
  };

  double WattsOf(const TestedNode& node, checks::Load load) const;
  double Draws(const TestedNode& node) const;
  double WattsWithoutStopping(const Rack& rack) const;
  std::map<size_t, double> Added(const std::vector<Member>& members) const;  // by rack
  void Change(TestedNode& node, absl::string_view id, std::optional<checks::Load> load);

  PowerRamp ramp_;
  uint64_t next_number_ = 0;
  std::vector<Rack> racks_;
  std::map<std::string, size_t, std::less<>> rack_index_;
  std::map<std::string, TestedNode, std::less<>> nodes_;
  std::map<std::string, Reservation, std::less<>> reservations_;
};

}  // namespace muster::controller::validation
