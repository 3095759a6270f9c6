// The tables of rollouts and of what keeps nodes out of Slurm, and their rows; included by
// tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// Keeps a node out of Slurm, whatever it has passed, until its owner or an administrator ends it.
struct NodeHoldRecord {
  std::string node_uuid;
  std::string owner;  // "admin:ann", "u-7k3m9q2x"
  std::string reason;
  absl::Time since;
  bool is_quarantine = false;  // of the node's health; only an administrator ends it
};

class NodeHoldTable {
 public:
  virtual ~NodeHoldTable() = default;
  // Inserts or replaces by node and owner.
  virtual absl::Status Put(const NodeHoldRecord& hold) = 0;
  // Does nothing when there is none.
  virtual absl::Status Delete(absl::string_view node_uuid, absl::string_view owner) = 0;
  // Oldest first.
  virtual absl::StatusOr<std::vector<NodeHoldRecord>> List() = 0;
};

// A playbook over workers, a few at a time.
struct RolloutRecord {
  std::string rollout_id;
  int state = 0;        // v1::RolloutState
  std::string request;  // a serialized v1::CreateRolloutRequest, with the defaults filled in
  std::string created_by;
  std::string mandate_serial;  // of the certificate that was used to ask for it
  absl::Time certificate_ends = absl::UnixEpoch();
  absl::Time created_at;
  std::optional<absl::Time> finished_at;
  std::string message;
  uint64_t inventory_revision = 0;
  uint32_t wave = 0;
  absl::Time wave_since = absl::UnixEpoch();  // since when it is in this state and wave
  uint32_t forgiven = 0;                      // failed nodes that do not count any more
  uint32_t forgiven_out = 0;                  // updated ones that went out of service, likewise
  std::string previous_bundle;                // "": there is none
  std::string rolled_back_by;
  std::string left_out;  // a host list
};

// The step of one node in a rollout.
struct RolloutNodeRecord {
  std::string rollout_id;
  std::string node;
  std::string node_uuid;
  uint32_t position = 0;  // in the order of the inventory
  int step = 0;           // v1::RolloutStep
  absl::Time since;
  std::string message;
  std::string run_id;
  std::string validation_id;
  std::string service_before;
  bool was_available = false;  // before: it took jobs
  bool passed_over = false;
  bool run_changed = false;  // its run changed something
};

// Something that happened, for people and watchers.
struct RolloutEventRecord {
  std::string rollout_id;
  uint64_t sequence = 0;
  std::string event;  // a serialized v1::RolloutEvent
};

class RolloutTable {
 public:
  virtual ~RolloutTable() = default;
  // Inserts or replaces by id.
  virtual absl::Status Put(const RolloutRecord& rollout) = 0;
  virtual absl::StatusOr<RolloutRecord> Get(absl::string_view rollout_id) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<RolloutRecord>> List(uint32_t limit) = 0;
  // Those without an end, oldest first.
  virtual absl::StatusOr<std::vector<RolloutRecord>> ListOpen() = 0;
  // Inserts or replaces by rollout and node.
  virtual absl::Status PutNode(const RolloutNodeRecord& node) = 0;
  // By position.
  virtual absl::StatusOr<std::vector<RolloutNodeRecord>> ListNodes(
      absl::string_view rollout_id) = 0;
  // The newest rollout that has the node. NotFound: none has.
  virtual absl::StatusOr<RolloutRecord> NewestOf(absl::string_view node) = 0;
  virtual absl::Status AppendEvent(const RolloutEventRecord& event) = 0;
  // Above the sequence, in order.
  virtual absl::StatusOr<std::vector<RolloutEventRecord>> ListEvents(absl::string_view rollout_id,
                                                                     uint64_t after_sequence) = 0;
};

}  // namespace muster::controller
