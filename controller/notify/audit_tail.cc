#include "controller/notify/audit_tail.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/hostlist.h"
#include "controller/audit/audit.h"
#include "controller/notify/drift_notices.h"
#include "controller/notify/ledger.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::notify {
namespace {

using Made = std::vector<Notification>;

Notification About(const EventRecord& event, absl::string_view kind, Severity severity,
                   std::string text) {
  Notification made;
  made.kind = std::string(kind);
  made.severity = severity;
  made.key = event.subject;
  made.text = std::move(text);
  made.at = event.time;
  return made;
}

absl::StatusOr<Made> OfRun(Transaction& txn, const EventRecord& event) {
  ASSIGN_OR_RETURN(const RunRecord run, txn.runs().Get(event.subject));
  v1::CreateRunRequest request;
  request.ParseFromString(run.request);
  if (request.check_only()) return DriftNotices(txn, event, run, request.playbook());
  if (run.state != RunRecord::kFailed) return Made();
  ASSIGN_OR_RETURN(const std::vector<RunNodeRecord> nodes, txn.runs().ListNodes(run.run_id));
  Notification made = About(event, "run.failed", Severity::kWarning,
                            absl::StrCat("run ", run.run_id, " of ", request.playbook(), " by ",
                                         run.created_by, " failed: ", event.detail));
  for (const RunNodeRecord& node : nodes) {
    if (node.state != "failed" && node.state != "unreachable") continue;
    made.nodes.push_back(node.node);
    absl::StrAppend(&made.details, node.node, ": ", node.state, node.message.empty() ? "" : ": ",
                    node.message, "\n");
  }
  absl::StrAppend(&made.details, "see: muster run show ", run.run_id);
  return Made{std::move(made)};
}

absl::StatusOr<Made> OfValidation(Transaction& txn, const EventRecord& event) {
  ASSIGN_OR_RETURN(const ValidationRecord validation, txn.validations().Get(event.subject));
  ASSIGN_OR_RETURN(const std::vector<ValidationNodeRecord> nodes,
                   txn.validations().ListNodes(validation.validation_id));
  Notification made = About(event, "validation.failed", Severity::kWarning,
                            absl::StrCat("validation ", validation.validation_id, ", suite ",
                                         validation.suite, ": ", event.detail));
  for (const ValidationNodeRecord& node : nodes) {
    if (node.outcome == v1::OUTCOME_FAIL && !node.is_witness) made.nodes.push_back(node.node);
  }
  if (made.nodes.empty()) return Made();
  made.details = absl::StrCat("see: muster validate report ", validation.validation_id);
  return Made{std::move(made)};
}

absl::StatusOr<std::string> FailedNodes(Transaction& txn, const RolloutRecord& rollout) {
  ASSIGN_OR_RETURN(const auto nodes, txn.rollouts().ListNodes(rollout.rollout_id));
  std::vector<std::string> failed;
  for (const RolloutNodeRecord& node : nodes) {
    if (node.step == v1::ROLLOUT_STEP_FAILED) failed.push_back(node.node);
  }
  return FoldHostlist(std::move(failed));
}

// What each change of a rollout is to people. An empty kind: it only ends a pause.
struct RolloutRow {
  absl::string_view action;
  absl::string_view kind;
  Severity severity;
  absl::string_view words;
};
constexpr RolloutRow kRolloutRows[] = {
    {"rollout.pause", "rollout.paused", Severity::kWarning, "is paused"},
    {"rollout.resume", "", Severity::kInfo, "continues"},
    {"rollout.abort", "rollout.aborted", Severity::kWarning, "is aborted"},
    {"rollout.rollback", "rollout.rolled_back", Severity::kWarning, "is rolled back"},
    {"rollout.complete", "rollout.completed", Severity::kInfo, "is completed"},
};

absl::StatusOr<Made> OfRollout(Transaction& txn, const EventRecord& event) {
  const RolloutRow& row =
      *std::find_if(std::begin(kRolloutRows), std::end(kRolloutRows),
                    [&](const RolloutRow& each) { return each.action == event.action; });
  ASSIGN_OR_RETURN(const RolloutRecord rollout, txn.rollouts().Get(event.subject));
  v1::CreateRolloutRequest request;
  request.ParseFromString(rollout.request);
  ASSIGN_OR_RETURN(const std::string failed, FailedNodes(txn, rollout));
  const std::string text = absl::StrCat("update ", rollout.rollout_id, " to ", request.playbook(),
                                        " ", row.words, event.detail.empty() ? "" : ": ",
                                        event.detail, failed.empty() ? "" : "; failed: ", failed);
  Made all;
  if (row.kind != "rollout.paused") {
    all.push_back(About(event, "rollout.paused", Severity::kInfo, text));
    all.back().resolved = true;
  }
  if (!row.kind.empty()) {
    // A pause that a person asked for is no reason to worry.
    const bool is_asked = event.actor != ControllerActor().name && PolicyOf(event.actor).empty();
    all.push_back(About(event, row.kind, is_asked ? Severity::kInfo : row.severity, text));
    all.back().details = absl::StrCat("see: muster rollout show ", rollout.rollout_id);
  }
  return all;
}

// Entries whose words say it all; they are about one node.
struct NodeRow {
  absl::string_view action;
  absl::string_view kind;
  Severity severity;
};
constexpr NodeRow kNodeRows[] = {
    {"node.clone", "node.cloned", Severity::kCritical},
    {"node.cut_off", "node.cut_off", Severity::kWarning},
    {"node.facts_refused", "node.facts_refused", Severity::kWarning},
    {"node.key_copied", "node.key_copied", Severity::kCritical},
};

absl::StatusOr<Made> OfNode(Transaction&, const EventRecord& event) {
  const NodeRow& row = *std::find_if(std::begin(kNodeRows), std::end(kNodeRows),
                                     [&](const auto& each) { return each.action == event.action; });
  Notification made = About(event, row.kind, row.severity, event.detail);
  made.nodes = {event.subject};
  return Made{std::move(made)};
}

struct Reader {
  absl::string_view action;
  absl::StatusOr<Made> (*read)(Transaction&, const EventRecord&);
};
constexpr Reader kReaders[] = {
    {"run.finish", &OfRun},           {"validation.finish", &OfValidation},
    {"rollout.pause", &OfRollout},    {"rollout.resume", &OfRollout},
    {"rollout.abort", &OfRollout},    {"rollout.rollback", &OfRollout},
    {"rollout.complete", &OfRollout}, {"node.clone", &OfNode},
    {"node.cut_off", &OfNode},        {"node.facts_refused", &OfNode},
    {"node.key_copied", &OfNode},
};

}  // namespace

absl::StatusOr<std::vector<Notification>> NotificationsOf(Transaction& txn,
                                                          const EventRecord& event) {
  for (const Reader& reader : kReaders) {
    if (reader.action != event.action) continue;
    absl::StatusOr<Made> made = reader.read(txn, event);
    if (absl::IsNotFound(made.status())) return Made();
    return made;
  }
  return Made();
}

absl::StatusOr<bool> ReadAuditLog(Transaction& txn, const std::vector<ChannelConfig>& channels,
                                  absl::Time now, std::set<std::string>* woken) {
  ASSIGN_OR_RETURN(const std::optional<uint64_t> position, txn.notifications().Position());
  if (!position.has_value()) {
    ASSIGN_OR_RETURN(const std::vector<EventRecord> newest, txn.events().List(1, 0));
    RETURN_IF_ERROR(txn.notifications().PutPosition(newest.empty() ? 0 : newest.front().sequence));
    return false;
  }
  ASSIGN_OR_RETURN(const std::vector<EventRecord> events,
                   txn.events().ListAfter(*position, kMaxEvents));
  for (const EventRecord& event : events) {
    ASSIGN_OR_RETURN(std::vector<Notification> notifications, NotificationsOf(txn, event));
    for (Notification& each : notifications)
      RETURN_IF_ERROR(Record(txn, Cleaned(std::move(each)), channels, now, woken));
  }
  if (!events.empty()) RETURN_IF_ERROR(txn.notifications().PutPosition(events.back().sequence));
  return events.size() == kMaxEvents;
}

}  // namespace muster::controller::notify
