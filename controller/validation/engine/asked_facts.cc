#include "controller/validation/engine/asked_facts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::controller::validation {
namespace {

constexpr absl::string_view kStartPrefix = "begin/";
constexpr absl::string_view kEndPrefix = "end/";

}  // namespace

std::string FactsRequestId(const FactsRequest& request) {
  return absl::StrCat(request.at_end ? kEndPrefix : kStartPrefix, request.validation_id);
}

std::optional<FactsRequest> ParseFactsRequestId(absl::string_view request_id) {
  FactsRequest request;
  request.at_end = absl::ConsumePrefix(&request_id, kEndPrefix);
  if (!request.at_end && !absl::ConsumePrefix(&request_id, kStartPrefix)) return std::nullopt;
  request.validation_id = std::string(request_id);
  return request;
}

void AskedFacts::Begin(const std::set<std::string>& nodes, absl::Time now) {
  has_begun_ = true;
  for (const std::string& node : nodes) nodes_[node] = Step::kToAsk;
  open_ = nodes_.size();
  deadline_ = now + kWait;
}

std::vector<std::string> AskedFacts::ToAsk() const {
  std::vector<std::string> nodes;
  for (const auto& [node, step] : nodes_) {
    if (step == Step::kToAsk) nodes.push_back(node);
  }
  return nodes;
}

void AskedFacts::OnAsked(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second == Step::kToAsk) found->second = Step::kAsked;
}

void AskedFacts::OnLost(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found != nodes_.end() && found->second == Step::kAsked) found->second = Step::kToAsk;
}

void AskedFacts::OnAnswered(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end() || found->second == Step::kAnswered) return;
  found->second = Step::kAnswered;
  --open_;
}

bool AskedFacts::IsOver(absl::Time now) const {
  return has_begun_ && (open_ == 0 || now >= deadline_);
}

bool AskedFacts::HaveAnswer(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second == Step::kAnswered;
}

bool AskedFacts::WaitsFor(const std::string& node) const {
  const auto found = nodes_.find(node);
  return found != nodes_.end() && found->second != Step::kAnswered;
}

}  // namespace muster::controller::validation
