// The events of a run, put together again from the store.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "controller/run/run_events.h"

namespace muster::controller {

class Store;
struct StepResultRecord;

// RunRecord::message of a run that is being cancelled begins so.
inline constexpr char kCancelledBy[] = "cancelled by ";

v1::RunEvent StepEvent(const StepResultRecord& result);

// Step results, then what became of each node, then the end. NotFound: no such run.
absl::StatusOr<std::shared_ptr<RunEventLog>> LogOfEndedRun(Store& store, const std::string& run_id);

}  // namespace muster::controller
