#include "controller/session/facts_round.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::controller {
namespace {

struct OwnerRow {
  FactsRequest::Owner owner;
  absl::string_view prefix;
};
constexpr OwnerRow kOwners[] = {
    {FactsRequest::Owner::kPlay, "play/"},
    {FactsRequest::Owner::kRunEnd, "after/"},
    {FactsRequest::Owner::kValidationStart, "begin/"},
    {FactsRequest::Owner::kValidationEnd, "end/"},
    {FactsRequest::Owner::kPerson, "person/"},
};

}  // namespace

std::string ToRequestId(const FactsRequest& request) {
  for (const OwnerRow& row : kOwners)
    if (row.owner == request.owner) return absl::StrCat(row.prefix, request.id);
  return "";
}

std::optional<FactsRequest> ParseFactsRequest(absl::string_view request_id) {
  for (const OwnerRow& row : kOwners)
    if (absl::ConsumePrefix(&request_id, row.prefix))
      return FactsRequest{row.owner, std::string(request_id)};
  return std::nullopt;
}

void FactsRound::Begin(const std::set<std::string>& nodes, absl::Time deadline) {
  has_begun_ = true;
  for (const std::string& node : nodes) open_ += nodes_.try_emplace(node, Step::kToAsk).second;
  deadline_ = deadline;
}

std::vector<std::string> FactsRound::ToAsk() const {
  std::vector<std::string> nodes;
  for (const auto& [node, step] : nodes_) {
    if (step == Step::kToAsk) nodes.push_back(node);
  }
  return nodes;
}

void FactsRound::OnAsked(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second == Step::kToAsk) found->second = Step::kAsked;
}

void FactsRound::OnLost(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second == Step::kAsked) found->second = Step::kToAsk;
}

bool FactsRound::OnAnswered(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second == Step::kAnswered) return false;
  found->second = Step::kAnswered;
  --open_;
  return true;
}

bool FactsRound::Drop(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second == Step::kAnswered) return false;
  nodes_.erase(found);
  --open_;
  return true;
}

bool FactsRound::IsOver(absl::Time now) const {
  return has_begun_ && (open_ == 0 || now >= deadline_);
}

bool FactsRound::HasAnswered(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second == Step::kAnswered;
}

bool FactsRound::WaitsFor(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second != Step::kAnswered;
}

}  // namespace muster::controller
