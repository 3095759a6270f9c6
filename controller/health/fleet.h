// The health of all nodes, in memory. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/health/node_health.h"
#include "controller/store/tables.h"

namespace muster::controller::health {

struct FleetNode {
  std::string uuid;
  std::string name;
  NodeHealth health;
  // Absent: its agent is connected. Later than now: it has until then to connect.
  std::optional<absl::Time> away_since;
  bool needs_settings = false;  // its agent has not got the settings that hold for it
  bool has_reported = false;    // since it connected
  absl::Time ask_at;            // when to ask for a report that has not come
  int asks_left = 0;
  std::string boot_id;       // of the last session; "": not known
  bool is_lost = false;      // the history says so
  uint32_t events_left = 0;  // before the next minute
};

// Members of the cluster and what they said last. Not thread-safe.
//
// A node that flaps, or lies, fills neither the memory nor the store: its last report is bounded by
// common/wire, and no more than kEventsPerMinute of its changes are remembered.
class Fleet {
 public:
  static constexpr uint32_t kEventsPerMinute = 60;
  // Changes that wait for the store; more are dropped.
  static constexpr size_t kMaxEvents = 20'000;
  // How long an agent may take until it has reported by itself, and how often it is asked then:
  // one of an earlier version never answers.
  static constexpr absl::Duration kReportPatience = absl::Seconds(10);
  static constexpr int kAsks = 3;

  // Names by uuid. Those that are new have until `connects_by`; those that are gone are forgotten.
  void SetMembers(const std::map<std::string, std::string>& members, absl::Time connects_by);
  // Before nodes connect: what the store has.
  void Restore(const HealthReportRecord& stored);

  // Before nodes connect: the boot of their last session, and those that the history calls lost.
  void RestoreBoot(absl::string_view uuid, const std::string& boot_id);
  void RestoreLost(absl::string_view uuid);

  // These change nothing and return false for a node that is not a member yet. An empty `boot_id`
  // says nothing.
  bool Connect(absl::string_view uuid, absl::Time now, const std::string& boot_id = "");
  bool Disconnect(absl::string_view uuid, absl::Time now);
  bool Take(absl::string_view uuid, const v1::HealthReport& report, absl::Time now);

  // The controller did nothing for a while, or its clock was set: nodes that are away and not lost
  // yet, and those that disconnect before then, have until `connects_by` to connect. `now`: by the
  // clock as it is set now.
  void Excuse(absl::Time now, absl::Time connects_by);

  // Has the history say which nodes have been away for `patience`.
  void NoteLost(absl::Time now, absl::Duration patience);

  const std::map<std::string, FleetNode, std::less<>>& nodes() const { return nodes_; }
  // Nodes need their settings: all of them, or this one.
  void NeedSettings();
  void SetSettingsSent(absl::string_view uuid);
  // Nodes whose agents are connected, have not reported since, and are to be asked now.
  std::vector<std::string> ReportsToAskFor(absl::Time now) const;
  void SetAsked(absl::string_view uuid, absl::Time now);

  // What the store lacks.
  std::vector<HealthReportRecord> ReportsToStore() const;
  const std::vector<HealthEventRecord>& events() const { return events_; }
  // It has them now.
  void SetStored();
  // Changes that nobody will read about.
  uint64_t dropped_events() const { return dropped_events_; }

 private:
  void AddEvents(FleetNode& node, const std::vector<v1::Condition>& changes, absl::Time now);

  std::map<std::string, FleetNode, std::less<>> nodes_;  // by uuid
  std::map<std::string, std::string> reports_;           // by uuid: those that the store lacks
  WatchedSets watched_;
  absl::Time connects_by_ = absl::InfinitePast();  // see Excuse()
  std::vector<HealthEventRecord> events_;
  absl::Time minute_ = absl::InfinitePast();
  uint64_t dropped_events_ = 0;
};

}  // namespace muster::controller::health
