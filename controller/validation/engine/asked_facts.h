// The facts of nodes when their validation begins and when it ends: those in the store may be old.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller::validation {

// A request for facts, as encoded in its id.
struct FactsRequest {
  bool at_end = false;  // false: at the start
  std::string validation_id;
};
std::string FactsRequestId(const FactsRequest& request);
// nullopt: somebody else's request.
std::optional<FactsRequest> ParseFactsRequestId(absl::string_view request_id);

// Tracks which nodes were asked for their facts at one moment of a validation, and which have
// answered. Nodes are identified by uuid. Not thread-safe.
class AskedFacts {
 public:
  // How long a node may take to come back and to answer.
  static constexpr absl::Duration kWait = absl::Seconds(60);

  // Call once: sets the nodes to ask.
  void Begin(const std::set<std::string>& nodes, absl::Time now);
  bool has_begun() const { return has_begun_; }
  std::vector<std::string> ToAsk() const;
  void OnAsked(const std::string& node);
  // Its connection broke or was replaced: the request may be lost.
  void OnLost(const std::string& node);
  // Its facts are in the store.
  void OnAnswered(const std::string& node);
  // All have answered, or somebody takes too long.
  bool IsOver(absl::Time now) const;
  bool HaveAnswer(const std::string& node) const;
  // The node has to answer, and has not yet.
  bool WaitsFor(const std::string& node) const;

 private:
  enum class Step { kToAsk, kAsked, kAnswered };

  bool has_begun_ = false;
  std::map<std::string, Step> nodes_;
  size_t open_ = 0;  // nodes that have not answered
  absl::Time deadline_;
};

}  // namespace muster::controller::validation
