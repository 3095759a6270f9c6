// Counts the nodes that are out of service, against a rollout's limits. Pure.
#pragma once

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "controller/rollout/plan/rollout_plan.h"

namespace muster::controller::rollout {

// It takes no jobs, or will soon take none because it is being updated. What Slurm's power saving
// has is not out: it takes jobs.
bool IsOut(const NodeView& node);

// The limit that keeps a node from being taken.
enum class SlotLimit { kNone, kCluster, kRack, kSwitch };

// Keeps references into the view, which has to outlive it.
class Slots {
 public:
  explicit Slots(const RolloutView& view);

  SlotLimit LimitOn(const NodeView& node) const;
  void Take(const NodeView& node);
  // Nothing fits any more, whatever it is.
  bool IsFull() const { return cluster_.active >= limits_.max_unavailable; }

 private:
  struct Count {
    uint32_t out = 0;
    uint32_t active = 0;
  };
  using Counts = absl::flat_hash_map<absl::string_view, Count>;

  static void Add(Count more, Count& count);
  void AddNear(Count more, absl::string_view rack, absl::string_view switch_name);
  static bool Fits(Count count, bool is_available, uint32_t limit);
  static bool Fits(const Counts& counts, absl::string_view place, bool is_available,
                   uint32_t limit);

  const Limits& limits_;
  Count cluster_;
  Counts racks_;
  Counts switches_;
};

}  // namespace muster::controller::rollout
