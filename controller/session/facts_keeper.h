// The newest facts of every node.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

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

// Stores what agents report of their machines, and asks them for news. Thousands report at once:
// what has come while one transaction was written goes into the next one together. Thread-safe.
class FactsKeeper final : public AgentSessionListener {
 public:
  // Told, in the keeper's thread, that the facts that came with that request id are in the store.
  using OnStored = std::function<void(const std::string& node_uuid, const std::string& request_id)>;

  // The references must outlive the object. Starts its thread.
  FactsKeeper(Store& store, Clock& clock, OnStored on_stored = nullptr);
  ~FactsKeeper() override;  // stops

  // Writes what has come and ends the thread; nothing is taken any more.
  void Stop();

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
  void OnRebootRequest(absl::string_view, const v1::RebootRequest&) override {}

 private:
  struct Waiting {
    std::string node_uuid;
    bool is_answered = false;
    absl::Status outcome;
  };
  // What one node reported since the last transaction.
  struct News {
    std::string facts;  // the newest
    std::vector<std::string> request_ids;
  };
  using NewsByNode = absl::flat_hash_map<std::string, News>;

  void Loop();
  void Write(const NewsByNode& news);
  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_stopping_ || !news_.empty();
  }

  Store& store_;
  Clock& clock_;
  const OnStored on_stored_;
  absl::Mutex mutex_;
  // By request id; owned by the waiting callers of Refresh().
  absl::flat_hash_map<std::string, Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
  NewsByNode news_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace muster::controller
