// Which work holds which nodes: runs and validations exclude each other.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster::controller {

// Thread-safe; forgotten by a restart, after which holders claim anew.
class NodeClaims {
 public:
  struct Holder {
    std::string id;      // "v-7k3m9q2x"
    std::string doing;   // "validation v-7k3m9q2x of admin:alice (suite acceptance) tests"
    std::string remedy;  // "wait for it (…), cancel it (…)"
    absl::Time since;
  };

  // All of the nodes or none. FailedPrecondition: another holder has some; the message names both,
  // and what can be done. Claiming again adds nodes.
  absl::Status Claim(const Holder& holder, const std::vector<std::string>& nodes);
  // Which of `nodes` others hold, by the holder's id, and what Claim() would say of it.
  struct Taken {
    std::vector<std::string> nodes;
    std::string reason;
  };
  std::map<std::string, Taken> HoldersOf(const std::vector<std::string>& nodes) const;
  // Those of `nodes` that somebody holds.
  std::set<std::string> HeldOf(const std::vector<std::string>& nodes) const;
  // An unknown id is fine.
  void Release(const std::string& holder_id);
  // Only this one of its nodes, if it has it.
  void ReleaseNode(const std::string& holder_id, const std::string& node);

 private:
  struct Held {
    Holder holder;
    std::vector<std::string> nodes;
  };
  // By holder; `except` is none of them.
  std::map<std::string, Taken> TakenFrom(const std::vector<std::string>& nodes,
                                         const std::string& except) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Held> holders_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> holder_of_ ABSL_GUARDED_BY(mutex_);  // by node
};

}  // namespace muster::controller
