// The tables of nodes' health and their rows; included by tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// The last report of a node.
struct HealthReportRecord {
  std::string node_uuid;
  absl::Time received_at;
  std::string report;  // a serialized v1::HealthReport
};

// A change of a condition, for people.
struct HealthEventRecord {
  int64_t sequence = 0;  // set by the store
  absl::Time time;
  std::string node_uuid;
  std::string node;
  std::string condition;  // its name
  std::string event;      // a serialized v1::Condition
};

// A node that a condition has drained.
struct HealthDrainRecord {
  enum State {
    kHeld = 1,          // there is a hold of the condition's
    kAcknowledged = 2,  // a person has ended the hold; no other before the condition was well, or
                        // another part of the node has it
    kEnded = 3,         // it was well long enough, or passed the test
  };
  // The one reboot by which the condition is to be ended.
  enum Reboot {
    kNoReboot = 0,
    kDue = 1,      // none was begun yet
    kRunning = 2,  // `rollout_id` does it
    kDone = 3,     // the node is back; whether it helped is not known while the condition is not
    kInVain = 4,   // `reboot_trouble` says why; there is no second one
  };
  std::string node_uuid;
  std::string condition;
  State state = kHeld;
  absl::Time drained_at;
  std::optional<absl::Time> good_since;  // since when the condition is well again without a break
  std::optional<absl::Time> ended_at;
  bool was_in_service = false;  // it counts for the breakers
  uint32_t relapses = 0;        // how often it came back soon after its drain had ended
  std::string validation_id;    // the last test that was started for its return; "": none
  bool is_quarantine = false;   // only an administrator ends it
  bool is_cleared = false;      // and may: it was well long enough, and passed the test
  Reboot reboot = kNoReboot;
  std::string rollout_id;                 // of the reboot; "": none was begun
  std::optional<absl::Time> rebooted_at;  // when it ended, also before an earlier end of the drain
  std::string reboot_trouble;             // "a reboot did not help"
  // The parts of the node that have the condition, as far as known to whoever ends the hold.
  // nullopt: of an earlier version, which did not note them.
  std::optional<std::set<std::string>> known_parts;

  friend bool operator==(const HealthDrainRecord&, const HealthDrainRecord&) = default;
};

// A limit on drains that has been exceeded.
struct HealthBreakerRecord {
  std::string group;
  absl::Time opened_at;
  absl::Time denied_at;  // when it last kept a node from being drained
};

struct HealthSilenceRecord {
  std::string silence_id;
  std::string nodes;      // a host list
  std::string condition;  // "": every condition
  absl::Time until;
  std::string reason;
  std::string created_by;
  absl::Time created_at;
};

class HealthTable {
 public:
  virtual ~HealthTable() = default;
  // Inserts or replaces by node.
  virtual absl::Status PutReport(const HealthReportRecord& report) = 0;
  virtual absl::StatusOr<std::vector<HealthReportRecord>> ListReports() = 0;
  virtual absl::Status RemoveReport(absl::string_view node_uuid) = 0;

  virtual absl::Status AppendEvent(const HealthEventRecord& event) = 0;
  // Newest first, of this node and of this condition; "": of any.
  virtual absl::StatusOr<std::vector<HealthEventRecord>> ListEvents(absl::string_view node,
                                                                    absl::string_view condition,
                                                                    uint32_t limit) = 0;
  // The events of all nodes and conditions: newest first below the sequence, oldest first above it.
  virtual absl::StatusOr<std::vector<HealthEventRecord>> ListEventsBefore(uint64_t sequence,
                                                                          uint32_t limit) = 0;
  virtual absl::StatusOr<std::vector<HealthEventRecord>> ListEventsAfter(uint64_t sequence,
                                                                         uint32_t limit) = 0;
  // Removes events from before `time`, and the oldest of more than `max_kept`, at most `max_rows`;
  // returns how many. The newest stays, so that no sequence is given a second time.
  virtual absl::StatusOr<uint64_t> RemoveEvents(absl::Time time, uint64_t max_kept,
                                                uint32_t max_rows) = 0;

  // Inserts or replaces by node and condition.
  virtual absl::Status PutDrain(const HealthDrainRecord& drain) = 0;
  virtual absl::Status RemoveDrain(absl::string_view node_uuid, absl::string_view condition) = 0;
  virtual absl::StatusOr<std::vector<HealthDrainRecord>> ListDrains() = 0;

  // Inserts or replaces by group.
  virtual absl::Status PutBreaker(const HealthBreakerRecord& breaker) = 0;
  virtual absl::Status RemoveBreaker(absl::string_view group) = 0;
  virtual absl::StatusOr<std::vector<HealthBreakerRecord>> ListBreakers() = 0;

  virtual absl::Status PutSilence(const HealthSilenceRecord& silence) = 0;
  virtual absl::Status RemoveSilence(absl::string_view silence_id) = 0;
  // Oldest first, those that have ended too.
  virtual absl::StatusOr<std::vector<HealthSilenceRecord>> ListSilences() = 0;
};

}  // namespace muster::controller
