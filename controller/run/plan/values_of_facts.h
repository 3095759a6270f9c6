// The facts of all nodes as template values.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "controller/playbook/compiler.h"

namespace muster::controller {

class Store;

// Makes the values outside of any transaction. Leaves out facts that cannot be parsed. Lists and
// objects in them are folded: those of thousands of machines would take a gigabyte.
absl::StatusOr<FactsByNode> ReadAllFacts(Store& store);

// Keeps the values from one play to the next, so that only facts that have changed are made into
// values again: for ten thousand nodes most of a second a play. Thread-safe.
class KeptFacts {
 public:
  struct Values {
    FactsByNode facts;
    absl::flat_hash_map<std::string, size_t> marks;  // of the stored facts, by node name
  };

  // The values of now, as ReadAllFacts() reads them; the caller gives them back when it has used
  // them. A caller that asks in between gets new values, made of all facts.
  absl::StatusOr<std::unique_ptr<Values>> Take(Store& store);
  void GiveBack(std::unique_ptr<Values> values);
  // Frees the memory; for when no run is active.
  void Forget();

 private:
  absl::Mutex mutex_;
  std::unique_ptr<Values> values_ ABSL_GUARDED_BY(mutex_);  // nullptr: taken, or never made
};

}  // namespace muster::controller
