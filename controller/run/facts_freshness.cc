#include "controller/run/facts_freshness.h"

#include <utility>

#include "controller/run/plan/plan_finish.h"

namespace muster::controller {
namespace {

// A clock that was set back makes nothing fresh for longer.
bool IsYounger(absl::Time then, absl::Duration age, absl::Time now) {
  return now >= then && now - then < age;
}

}  // namespace

void FactsFreshness::OnAsked(const std::string& uuid, const std::string& plan_id, absl::Time now) {
  nodes_[uuid].open = Question{plan_id, now};
}

void FactsFreshness::OnTold(absl::string_view uuid, absl::string_view plan_id) {
  const auto node = nodes_.find(uuid);
  if (node == nodes_.end()) return;
  std::optional<Question>& open = node->second.open;
  if (open.has_value() && open->plan_id == plan_id)
    node->second.told = std::exchange(open, std::nullopt);
}

void FactsFreshness::Forget(absl::string_view uuid) {
  if (const auto node = nodes_.find(uuid); node != nodes_.end()) nodes_.erase(node);
}

const FactsFreshness::Node* FactsFreshness::Find(absl::string_view uuid) const {
  const auto node = nodes_.find(uuid);
  return node == nodes_.end() ? nullptr : &node->second;
}

bool FactsFreshness::IsFreshInRun(absl::string_view uuid, absl::string_view run_id,
                                  absl::Time now) const {
  const Node* node = Find(uuid);
  if (node == nullptr || !node->told.has_value()) return false;
  std::string asked_by;
  uint32_t play = 0;
  return ParsePlanId(node->told->plan_id, asked_by, play) && asked_by == run_id &&
         IsYounger(node->told->asked_at, kFactsFresh, now);
}

bool FactsFreshness::IsFreshOutside(absl::string_view uuid, absl::Time now) const {
  const Node* node = Find(uuid);
  return node != nullptr && node->told.has_value() &&
         IsYounger(node->told->asked_at, kFactsFreshOutside, now);
}

std::string FactsFreshness::OpenQuestion(absl::string_view uuid, absl::Time now) const {
  const Node* node = Find(uuid);
  const bool is_open = node != nullptr && node->open.has_value() &&
                       IsYounger(node->open->asked_at, kQuestionShared, now);
  return is_open ? node->open->plan_id : "";
}

}  // namespace muster::controller
