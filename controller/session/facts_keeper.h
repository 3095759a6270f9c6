// The newest facts of every node.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/session/agent_sessions.h"

namespace muster {
class Clock;
}

namespace muster::controller {

class Store;

// Stores what agents report of their machines, and asks them for news. Thread-safe.
class FactsKeeper final : public AgentSessionListener {
 public:
  // The references must outlive the object.
  FactsKeeper(Store& store, Clock& clock) : store_(store), clock_(clock) {}

  // Asks the node to gather its facts and waits until they are in the store, at most `timeout`.
  // Unavailable: not connected, or it left meanwhile. DeadlineExceeded: no answer. Must not be
  // called from a listener.
  absl::Status Refresh(AgentSessions& sessions, absl::string_view node_uuid,
                       absl::Duration timeout);

  void OnConnected(absl::string_view, const v1::Hello&) override {}
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) override;
  void OnPlanReceipt(absl::string_view, const v1::PlanReceipt&) override {}
  void OnReport(absl::string_view, const v1::Report&) override {}
  void OnProgress(absl::string_view, const v1::StepProgress&) override {}

 private:
  struct Waiting {
    std::string node_uuid;
    bool is_answered = false;
    absl::Status outcome;
  };

  Store& store_;
  Clock& clock_;
  absl::Mutex mutex_;
  // By request id; owned by the waiting callers of Refresh().
  absl::flat_hash_map<std::string, Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
