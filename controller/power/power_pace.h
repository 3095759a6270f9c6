// When machines of a rack may be switched on: not all at once. Pure.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"

namespace muster::controller::power {

// What is known about a machine that is to be switched on.
struct PowerNeed {
  std::string rack;        // "": not known, and not limited
  double limit_watts = 0;  // of the rack; 0: none
  double start_watts = 0;  // what the machine draws while it starts, at most
  double idle_watts = 0;   // and later, at least
  // What the rack's machines that are on already draw at least, by name. nullptr: there are none.
  std::shared_ptr<const std::map<std::string, double>> others;
  absl::Duration gap = absl::Seconds(2);  // between two in the rack
};

// Counts what was switched on a short time ago: a machine draws its inrush current in the first
// moment, and as much as it can in its first minute, when its fans run at full speed. Afterwards it
// counts as idle. Not thread-safe.
class PowerPace {
 public:
  static constexpr absl::Duration kStartTime = absl::Minutes(1);
  static constexpr absl::Duration kSettleTime = absl::Minutes(10);

  struct Turn {
    bool is_now = false;
    bool is_never = false;  // the rack cannot carry the machine, even if no other one starts
    absl::Time again = absl::InfiniteFuture();  // when to ask next, at the latest
    std::string why;                            // it may not, for people
  };
  // Counts the machine if it may be switched on now.
  Turn Ask(const std::string& node, const PowerNeed& need, absl::Time now);
  // The machine is off: it is not among the others either.
  void SetOff(const std::string& node, absl::Time now);

 private:
  struct Start {
    std::string rack;
    absl::Time at;
    double start_watts = 0;
    double idle_watts = 0;
  };
  void ForgetOld(absl::Time now);

  std::map<std::string, Start> starts_;    // by node
  std::map<std::string, absl::Time> off_;  // by node: since when
};

}  // namespace muster::controller::power
