// Claims of work on nodes: runs and validations exclude each other.
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

// Thread-safe; lost on restart, after which holders claim anew.
class NodeClaims {
 public:
  struct Holder {
    std::string id;      // "v-7k3m9q2x"
    std::string doing;   // "validation v-7k3m9q2x of admin:alice (suite acceptance) tests"
    std::string remedy;  // "wait for it (…), cancel it (…)"
    absl::Time since;
  };

  // Claims all of the nodes or none. FailedPrecondition: another holder has some; the message names
  // both and the remedy. Claiming again adds nodes.
  absl::Status Claim(const Holder& holder, const std::vector<std::string>& nodes);
  // The nodes that one holder has, and what Claim() would say about them.
  struct Taken {
    std::vector<std::string> nodes;
    std::string reason;
  };
  std::map<std::string, Taken> HoldersOf(const std::vector<std::string>& nodes) const;
  // The `nodes` that are held by anybody.
  std::set<std::string> HeldOf(const std::vector<std::string>& nodes) const;
  // Ignores an unknown id.
  void Release(const std::string& holder_id);
  // Releases only this one of its nodes, if it has it.
  void ReleaseNode(const std::string& holder_id, const std::string& node);

 private:
  struct Held {
    Holder holder;
    std::vector<std::string> nodes;
  };
  // By holder, without `except`.
  std::map<std::string, Taken> TakenFrom(const std::vector<std::string>& nodes,
                                         const std::string& except) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<std::string, Held> holders_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> holder_of_ ABSL_GUARDED_BY(mutex_);  // by node
};

}  // namespace muster::controller
