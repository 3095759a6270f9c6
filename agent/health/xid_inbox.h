// Lines about Xids on their way from the process that listens to the driver.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace muster::agent::health {

// Bounded: repeated Xids turn nothing worse. Thread-safe.
class XidInbox {
 public:
  static constexpr size_t kMaxLines = 256;

  // `wake` is called for each line, from any thread; empty: for none any more.
  void SetWake(std::function<void()> wake);
  // Whether the driver is listened to.
  void SetListening(bool is_listening);
  bool is_listening() const;

  void Add(absl::string_view line);
  // Those that have come since the last call, in their order.
  std::vector<std::string> Take();

 private:
  mutable absl::Mutex mutex_;
  std::function<void()> wake_ ABSL_GUARDED_BY(mutex_);
  bool is_listening_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent::health
