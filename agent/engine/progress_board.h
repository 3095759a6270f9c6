// Reports the current activity of a plan at a bearable rate.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::agent {

// Roles write their activity as often as they like; Flush(), called at the listener's rate, passes
// on the latest. Thread-safe.
class ProgressBoard {
 public:
  using Sink = std::function<void(const v1::StepProgress&)>;

  // `steps_done`: steps that an earlier life of this plan has finished.
  ProgressBoard(const v1::Plan& plan, uint32_t steps_done, Sink sink);

  void Show(absl::string_view role, const v1::Step& step, absl::string_view activity,
            std::optional<float> percent);
  void StepDone();
  // Calls the sink if anything is new since the last call.
  void Flush();

 private:
  const Sink sink_;
  absl::Mutex mutex_;
  v1::StepProgress latest_ ABSL_GUARDED_BY(mutex_);
  bool fresh_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace muster::agent
