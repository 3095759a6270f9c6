// The events of runs that ended long ago, put together again from the store.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/base/worker.h"
#include "controller/run/run_events.h"

namespace muster::controller {

class Store;
struct StepResultRecord;

// RunRecord::message of a run that is being cancelled begins so.
inline constexpr char kCancelledBy[] = "cancelled by ";

v1::RunEvent StepEvent(const StepResultRecord& result);

// Step results, then what became of each node, then the end. Watchers get the results a page at a
// time, when they have read the one before: however long a run was, a watch keeps one page. What
// comes behind is made once for all who watch the same run. One thread reads for all, so that
// neither the store nor its work is waited for on gRPC's threads. Thread-safe.
class RunHistory {
 public:
  // With what a program printed a result has at most 128 KiB, and some hundred bytes without.
  static constexpr uint32_t kPageResults = 32;

  // The references must outlive the object. Starts its thread.
  RunHistory(Store& store, Clock& clock);
  ~RunHistory();  // stops

  // Ends the thread; watchers are told nothing more.
  void Stop();
  // Sends all watchers away.
  void BreakAll();

  // See RunEventLog::Watch. NotFound: no such run.
  absl::StatusOr<std::shared_ptr<RunWatch>> Watch(const std::string& run_id,
                                                  uint64_t after_sequence,
                                                  std::function<void()> on_ready);

 private:
  class PagedWatch;
  struct Desk;  // where watches ask for pages
  using Tails = std::map<std::string, std::weak_ptr<RunEventLog>>;

  // Reads the next page that somebody waits for.
  absl::Time Step();

  Store& store_;
  const std::shared_ptr<Desk> desk_;
  Tails tails_;  // the worker's own
  Worker worker_;
};

}  // namespace muster::controller
