// Asking nodes for their facts: those in the store may be old.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// Who wants to know, as encoded in the id of a request.
struct FactsRequest {
  enum class Owner {
    kPlay,             // a run, before it compiles a play
    kRunEnd,           // a run that ends with a validation
    kValidationStart,  // a validation, before its checks
    kValidationEnd,    // and after them
    kPerson,
  };
  Owner owner = Owner::kPerson;
  std::string id;  // of the plan, the run, the validation; for a person, of the call
};
std::string ToRequestId(const FactsRequest& request);
// nullopt: an id that the controller does not make. Nodes may say anything.
std::optional<FactsRequest> ParseFactsRequest(absl::string_view request_id);

// Tracks which nodes were asked, and which have answered. Nodes are identified by uuid. Pure; not
// thread-safe.
class FactsRound {
 public:
  // Has these nodes asked, and waits for them until the deadline. Called again, it adds nodes.
  void Begin(const std::set<std::string>& nodes, absl::Time deadline);
  bool has_begun() const { return has_begun_; }
  std::vector<std::string> ToAsk() const;
  void OnAsked(const std::string& node);
  // Its connection broke or was replaced, and the request may be lost: it is to be asked again.
  void OnLost(const std::string& node);
  // Its facts are in the store. True: it was waited for.
  bool OnAnswered(const std::string& node);
  // It is not waited for any more. True: it was.
  bool Drop(const std::string& node);

  bool HaveAll() const { return open_ == 0; }
  // All have answered, or somebody takes too long.
  bool IsOver(absl::Time now) const;
  bool HasAnswered(const std::string& node) const;
  // The node has to answer, and has not yet.
  bool WaitsFor(const std::string& node) const;

 private:
  enum class Step { kToAsk, kAsked, kAnswered };

  bool has_begun_ = false;
  std::map<std::string, Step> nodes_;
  size_t open_ = 0;  // nodes that have not answered
  absl::Time deadline_;
};

}  // namespace muster::controller
