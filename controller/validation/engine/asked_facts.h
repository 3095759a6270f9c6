// What nodes are when their validation begins and when it ends: what the store has of them may be
// old.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller::validation {

// A request for facts, as its id names it.
struct FactsRequest {
  bool at_end = false;  // or at the start
  std::string validation_id;
};
std::string FactsRequestId(const FactsRequest& request);
// nullopt: the request of somebody else.
std::optional<FactsRequest> ParseFactsRequestId(absl::string_view request_id);

// Which nodes were asked for their facts at one moment of a validation, and who has answered. Nodes
// are meant by their uuids. Not thread-safe.
class AskedFacts {
 public:
  // A node may take so long to come back, and to answer.
  static constexpr absl::Duration kWait = absl::Seconds(60);

  // Once: these are to be asked.
  void Begin(const std::set<std::string>& nodes, absl::Time now);
  bool has_begun() const { return has_begun_; }
  std::vector<std::string> ToAsk() const;
  void OnAsked(const std::string& node);
  // Its connection broke or is another one: what it was asked may be lost.
  void OnLost(const std::string& node);
  // Its facts are in the store.
  void OnAnswered(const std::string& node);
  // All have answered, or somebody takes too long.
  bool IsOver(absl::Time now) const;
  bool HaveAnswer(const std::string& node) const;
  // It is to answer, and has not.
  bool WaitsFor(const std::string& node) const;

 private:
  enum class Step { kToAsk, kAsked, kAnswered };

  bool has_begun_ = false;
  std::map<std::string, Step> nodes_;
  size_t open_ = 0;  // have not answered
  absl::Time deadline_;
};

}  // namespace muster::controller::validation
