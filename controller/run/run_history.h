// The events of runs that ended long ago, reconstructed from the store.
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

// The beginning of RunRecord::message for a run that is being cancelled.
inline constexpr char kCancelledBy[] = "cancelled by ";

v1::RunEvent StepEvent(const StepResultRecord& result);
// Appends StepEvent(), made without the parsed step: there are hundreds of thousands of them.
void AppendStep(const StepResultRecord& result, RunFeed& feed);

// Gives step results, then the outcome of each node, then the end. Watchers get the results a page
// at a time, each after they have read the one before: however long a run was, a watch keeps one
// page. The events after the results are made once for all watchers of the same run. One thread
// reads for all, so that gRPC's threads wait neither for the store nor for its work. Thread-safe.
class RunHistory {
 public:
  // A result with a program's output has at most 128 KiB, and one without some hundred bytes.
  static constexpr uint32_t kPageResults = 32;

  // The references must outlive the object. Starts its thread.
  RunHistory(Store& store, Clock& clock);
  ~RunHistory();  // stops

  // Ends the thread; watchers get no more events.
  void Stop();
  // Disconnects all watchers.
  void BreakAll();

  // See RunFeed::Watch. NotFound: no such run.
  absl::StatusOr<std::shared_ptr<RunWatch>> Watch(const std::string& run_id,
                                                  uint64_t after_sequence,
                                                  std::function<void()> on_ready,
                                                  FeedPart part = FeedPart::kAll);

 private:
  class PagedWatch;
  struct PageQueue;  // where watches ask for pages
  using Tails = std::map<std::string, std::weak_ptr<RunFeed>>;

  // Reads the next page that somebody waits for.
  absl::Time Step();

  Store& store_;
  const std::shared_ptr<PageQueue> pages_;
  Tails tails_;  // the worker's own
  Worker worker_;
};

}  // namespace muster::controller
