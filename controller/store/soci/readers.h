// Read-only connections.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "controller/store/soci/connection.h"

namespace muster::controller {

// Lends a connection to each View, which sees what was committed when it began and waits for no
// writer. Bounded: a caller that finds none waits for the first that is returned. Thread-safe.
class SociReaders {
 public:
  // Fewer keep two processors busy; each has a cache of 2 MB.
  static constexpr size_t kCount = 4;

  // Opens kCount connections to the file at `path`, which must outlive the object.
  absl::Status Open(const std::string& path);
  absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn);

 private:
  std::unique_ptr<SociConnection> Take();
  void GiveBack(std::unique_ptr<SociConnection> reader);

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<SociConnection>> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
