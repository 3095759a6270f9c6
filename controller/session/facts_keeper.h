// The newest facts of every node.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/session/agent_sessions.h"
#include "controller/session/facts_round.h"

namespace muster {
class Clock;
}
namespace muster::v1 {
class PackageFacts;
}

namespace muster::controller {

class Store;
class Transaction;

// Stores the facts that agents report about their machines, and requests new ones. Thousands of
// reports arrive at once: all that arrive during one transaction are written together in the next.
// Processors and memory that a report does not tell stay as the node told them in the same boot,
// and so do GPUs whose probe took too long. Thread-safe.
class FactsKeeper final : public AgentSessionListener {
 public:
  // Called in the keeper's thread when the facts for that request id are in the store, or have been
  // refused: `why` then names the field that breaks its rule.
  using OnAnswered = std::function<void(const std::string& node_uuid, const FactsRequest& request,
                                        const absl::Status& why)>;
  // A node's refused facts appear in the audit log at most once in this time.
  static constexpr absl::Duration kAuditInterval = absl::Hours(1);

  // The references must outlive the object. Starts its thread.
  FactsKeeper(Store& store, Clock& clock);
  ~FactsKeeper() override;  // stops

  // Call before nodes connect.
  void Attach(OnAnswered on_answered) { on_answered_ = std::move(on_answered); }

  // Writes what has arrived and ends the thread; later reports are ignored.
  void Stop();

  // Checks stored facts against the current rules: an earlier version had none, or others. Call
  // before anything is compiled from facts, and before nodes connect. On an error, everything stays
  // as it was.
  absl::Status RefuseBadFacts();

  // Each caller that waits in Refresh() holds a thread for as long as an unresponsive node keeps it
  // waiting: limits the callers in total and for one person.
  static constexpr size_t kMaxRefreshes = 16;
  static constexpr size_t kMaxRefreshesOfPerson = 2;

  // Asks the node to gather its facts and waits until they are in the store, at most `timeout`.
  // `packages`: if not nullptr, the node is asked for the names of its packages as well, which do
  // not go to the store.
  // Unavailable: not connected, or disconnected meanwhile. DeadlineExceeded: no answer.
  // FailedPrecondition: the facts were refused. ResourceExhausted: `person`, or all callers
  // together, wait for too many nodes already. Must not be called from a listener.
  absl::Status Refresh(AgentSessions& sessions, absl::string_view node_uuid,
                       absl::string_view person, absl::Duration timeout,
                       v1::PackageFacts* packages = nullptr);

  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) override;
  void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                      const absl::Status& why) override;

 private:
  struct Waiting {
    std::string node_uuid;
    std::string person;
    bool is_answered = false;
    absl::Status outcome;
    v1::PackageFacts* packages = nullptr;  // where the names go; nullptr: nobody wants them
  };
  // The outcome of a request, provided that the store accepts it.
  struct Answer {
    std::string request_id;
    absl::Status refused;
  };
  struct GoodFacts {
    std::string serialized;
    bool has_gaps = false;  // parts are missing that the node may have told before
  };
  // The reports of one node since the last transaction.
  struct News {
    std::optional<GoodFacts> facts;  // the newest
    absl::Status refused;            // for the newest report
    std::vector<Answer> answers;
  };
  using NewsByNode = absl::flat_hash_map<std::string, News>;

  absl::Status CheckRefreshes(absl::string_view person) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Writes what has come since the last time. False: the store has refused it, and it is kept for
  // the next time.
  bool WriteNews();
  // No node sends its facts again by itself, and runs wait for the answers. What has come meanwhile
  // is newer.
  void KeepForLater(NewsByNode news);
  bool Write(const NewsByNode& news);
  static absl::Status PutFacts(Transaction& txn, const std::string& uuid, const GoodFacts& facts);
  // Adds the node to `audited` when the refusal is entered into the audit log: to be remembered
  // once the transaction has been committed.
  absl::Status WriteRefusal(Transaction& txn, const std::string& uuid, const absl::Status& why,
                            std::vector<std::string>& audited);

  Store& store_;
  Clock& clock_;
  OnAnswered on_answered_;
  // When each node's refusal was last entered into the audit log. Used by RefuseBadFacts(), then by
  // the keeper's thread alone.
  absl::flat_hash_map<std::string, absl::Time> audited_;
  absl::Mutex mutex_;
  // By request id; owned by the waiting callers of Refresh().
  absl::flat_hash_map<std::string, Waiting*> waiting_ ABSL_GUARDED_BY(mutex_);
  NewsByNode news_ ABSL_GUARDED_BY(mutex_);
  bool is_closed_ ABSL_GUARDED_BY(mutex_) = false;
  Worker worker_;
};

}  // namespace muster::controller
