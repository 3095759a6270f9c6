#include "controller/notify/drift_notices.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/inventory/drift_policy.h"
#include "controller/inventory/inventory.h"
#include "controller/notify/ledger.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::notify {
namespace {

constexpr char kDiffers[] = "drift.differs";
constexpr uint32_t kRowsAtOnce = 500;

absl::StatusOr<bool> IsTold(Transaction& txn, const std::string& policy, const std::string& node) {
  ASSIGN_OR_RETURN(const std::optional<NotificationRecord> newest,
                   txn.notifications().Newest(kDiffers, policy, node));
  return newest.has_value() && !newest->ended_at.has_value();
}

Notification Resolved(const std::string& policy, std::vector<std::string> nodes, absl::Time at,
                      std::string text) {
  Notification made;
  made.kind = kDiffers;
  made.key = policy;
  made.nodes = std::move(nodes);
  made.text = std::move(text);
  made.resolved = true;
  made.at = at;
  return made;
}

}  // namespace

absl::StatusOr<std::vector<Notification>> DriftNotices(Transaction& txn, const EventRecord& event,
                                                       const RunRecord& check,
                                                       const std::string& playbook) {
  absl::string_view name = PolicyOf(check.created_by);
  if (!absl::ConsumePrefix(&name, kDriftActor)) return std::vector<Notification>();
  const std::string policy(name);
  ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> nodes, txn.runs().ListNodes(check.run_id));
  std::vector<std::string> differ, as_applied;
  std::string details;
  for (const RunNodeRecord& node : nodes) {
    if (node.state != "done") continue;  // nothing is known of it
    ASSIGN_OR_RETURN(const bool is_told, IsTold(txn, policy, node.node));
    if ((node.changed > 0) == is_told) continue;
    (is_told ? as_applied : differ).push_back(node.node);
    if (!is_told) absl::StrAppend(&details, node.node, ": ", Counted(node.changed, "change"), "\n");
  }
  std::vector<Notification> all;
  if (!as_applied.empty())
    all.push_back(Resolved(policy, std::move(as_applied), event.time,
                           absl::StrCat("as policy ", policy, " applied it again")));
  if (differ.empty()) return all;
  Notification& made = all.emplace_back();
  made.kind = kDiffers;
  made.key = policy;
  made.at = event.time;
  made.text = absl::StrCat("differs from what was applied: policy ", policy, ", ", playbook);
  made.details = absl::StrCat(details, "see: muster drift ", FoldHostlist(differ), " --changes");
  made.nodes = std::move(differ);
  return all;
}

absl::Status EndDriftNotices(Transaction& txn, const Inventory& inventory,
                             const std::vector<ChannelConfig>& channels, absl::Time now,
                             std::set<std::string>* woken) {
  const auto is_compared = [&](const NotificationRecord& row) {
    return std::any_of(inventory.drift().begin(), inventory.drift().end(), [&](const auto& policy) {
      return policy->name == row.subject && std::find(policy->nodes.begin(), policy->nodes.end(),
                                                      row.nodes) != policy->nodes.end();
    });
  };
  for (uint64_t after = 0;;) {
    ASSIGN_OR_RETURN(const std::vector<NotificationRecord> rows,
                     txn.notifications().ListLasting(after, kRowsAtOnce));
    for (const NotificationRecord& row : rows) {
      after = row.sequence;
      if (row.kind != kDiffers || is_compared(row)) continue;
      RETURN_IF_ERROR(Record(
          txn,
          Cleaned(Resolved(row.subject, {row.nodes}, now,
                           absl::StrCat("policy ", row.subject, " does not compare it any more"))),
          channels, now, woken));
    }
    if (rows.size() < kRowsAtOnce) return absl::OkStatus();
  }
}

}  // namespace muster::controller::notify
