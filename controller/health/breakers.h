// How many nodes may be drained for their health. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "controller/inventory/health_policy.h"
#include "controller/store/tables.h"

namespace muster::controller::health {

struct NodeView;
struct Situation;

// The breakers of one decision. A breaker opens when more nodes are bad than may be drained within
// its window. It stays open as long as it keeps a node from being drained, and for a window after
// that: a false alarm of the whole fleet must not trickle through, a few nodes in each window.
class Breakers {
 public:
  // Counts what was drained; `counted` gets it by group. `situation` must outlive the object.
  Breakers(const Situation& situation, std::map<std::string, uint32_t>& counted);

  // The nodes in service that are to be drained, the most urgent first; a node may come twice.
  void Ask(const std::vector<const NodeView*>& nodes);
  // After Ask(): whether the node is among those that may.
  bool MayDrain(const NodeView& node) const;
  // After Ask(): what became of the breakers. `denied`: open before, and still in the way.
  void Finish(std::vector<HealthBreakerRecord>& opened, std::vector<HealthBreakerRecord>& denied,
              std::vector<std::string>& closed);

 private:
  struct Breaker {
    uint32_t drained = 0;
    bool is_open = false;
    bool has_denied = false;
  };

  const Situation& situation_;
  std::vector<Breaker> breakers_;  // as Situation::limits
  absl::flat_hash_set<std::string> allowed_;
};

}  // namespace muster::controller::health
