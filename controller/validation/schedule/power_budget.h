// Decides what may run in a rack at once without drawing more than the rack can supply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/checks/catalog.h"

namespace muster::controller::validation {

// A node about which nothing is known: two processors, idle and under load.
inline constexpr double kDefaultIdleWatts = 250;
inline constexpr double kDefaultCpuWatts = 600;

// Facts about a node's power before anything was measured.
struct NodePowerFacts {
  std::optional<double> full_watts;      // inventory: node_power_watts, measured at full load
  std::optional<double> idle_watts;      // inventory: node_idle_watts
  std::vector<double> gpu_limits;        // enforced limits of its GPUs
  double rest_watts = kDefaultCpuWatts;  // everything else under load
};

// The predicted draw of a node, in watts.
struct NodePower {
  double idle = kDefaultIdleWatts;
  double cpu = kDefaultCpuWatts;  // processors and network under load, GPUs without work
  double full = kDefaultCpuWatts;

  double Of(checks::Load load) const;
};
// full: the inventory's value, or the GPUs' limits plus the draw of the rest. cpu: full without the
// GPUs, but equal to full where their limits are unknown.
NodePower PredictPower(const NodePowerFacts& facts);

struct RackPower {
  std::string name;
  double limit_watts = 0;   // 0: none
  double others_watts = 0;  // the most that nodes of the rack draw that are not tested
};

// How load is added to a rack: a power supply that can carry a load may not survive its sudden
// rise. A step ends when nothing was added for the interval, so that no interval holds parts of two
// steps.
struct PowerRamp {
  double step_share = 1.0 / 3;  // of the limit; a single check may always be added
  absl::Duration interval = absl::Seconds(5);
};

// Keeps the sum of a rack's predicted power under its limit. A node draws as much as its most
// demanding check; `full` means that everything in it is at work. A node that was seen to draw more
// than predicted is predicted to do so again; a lower draw does not lower the prediction, because
// the next check may load the node more.
//
// Many racks feed less than all their nodes could draw, and work because jobs rarely draw it all at
// once. Where the nodes that are not tested leave no room for a check, it runs while no other check
// loads the rack, of this validation or another: its nodes then draw no more than their jobs may.
// The nodes under test never exceed the limit by themselves. Not thread-safe.
class PowerBudget {
 public:
  struct Member {
    std::string node;
    checks::Load load = checks::Load::kIdle;
  };
  // See HasLoad(), of all other validations.
  using OthersLoad = std::function<bool(const std::string& rack, bool with_stopping)>;

  explicit PowerBudget(std::vector<RackPower> racks, PowerRamp ramp = {});
  // Adds a node under test; `rack` may be empty or unknown, which means no limit. Once per node.
  void AddNode(absl::string_view node, absl::string_view rack, const NodePower& power);

  // Without it there are no other validations.
  void SetOthersLoad(OthersLoad others_load) { others_load_ = std::move(others_load); }

  // Why these could not start even as the only check in their racks, with the values; "": they
  // could.
  std::string WhyNever(const std::vector<Member>& members) const;
  // Reserves for all of `members` under `id`, which must be new, or for none. False: not now.
  bool TryStart(absl::string_view id, const std::vector<Member>& members, absl::Time now);
  // Reserves for checks that are running already, regardless of the limit.
  void Resume(absl::string_view id, const std::vector<Member>& members);
  // Gives back the reservation of `id`; ignores an unknown id.
  void Finish(absl::string_view id);

  // Reports a node's draw under its present load. Returns the ids to stop so that its rack keeps
  // its limit, newest first: they stay reserved until Finish(). An id is returned only once.
  std::vector<std::string> Measured(absl::string_view node, double watts);

  // The prediction for the whole rack, now. 0 for an unknown one.
  double RackWatts(absl::string_view name) const;
  // Whether a check has load in the rack; `with_stopping`: also one that is being stopped.
  bool HasLoad(absl::string_view rack, bool with_stopping) const;

 private:
  static constexpr size_t kNoRack = static_cast<size_t>(-1);

  struct Rack {
    RackPower power;
    std::vector<std::string> nodes;  // under test
    double reserved = 0;             // by all of them
    double idle = 0;                 // by all of them without tests
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
  // Whatever an idle node was seen to draw.
  bool HasLoad(const TestedNode& node, bool with_stopping) const;
  // With the checks that are being stopped, or as it will be without them.
  double Draws(const TestedNode& node, bool with_stopping = true) const;
  // Whether the rack carries its nodes under test at `tested_watts`, where these members are to
  // have load.
  bool Carries(const Rack& rack, double tested_watts, const std::vector<Member>& members,
               bool with_stopping = true) const;
  std::map<size_t, double> Added(const std::vector<Member>& members) const;  // by rack
  void Change(TestedNode& node, absl::string_view id, std::optional<checks::Load> load);

  PowerRamp ramp_;
  OthersLoad others_load_;
  uint64_t next_number_ = 0;
  std::vector<Rack> racks_;
  std::map<std::string, size_t, std::less<>> rack_index_;
  std::map<std::string, TestedNode, std::less<>> nodes_;
  std::map<std::string, Reservation, std::less<>> reservations_;
};

}  // namespace muster::controller::validation
