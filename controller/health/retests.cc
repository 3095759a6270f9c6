#include "controller/health/retests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/health/held_drain.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller::health {
namespace {

// How far back a validation of the suite is looked for.
constexpr uint32_t kEarlierValidations = 500;

// The site with which the suite was run last.
absl::StatusOr<std::string> BundleOf(Transaction& txn, const DueRetest& due) {
  ASSIGN_OR_RETURN(const std::vector<ValidationRecord> earlier,
                   txn.validations().List(kEarlierValidations, ""));
  for (const ValidationRecord& validation : earlier) {
    v1::CreateValidationRequest request;
    if (validation.suite == due.suite && request.ParseFromString(validation.request))
      return request.bundle_sha256();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the suite ", due.suite, " was never run; run it once by hand: muster validate ",
                   due.node, " --suite ", due.suite));
}

NodeCondition KeyOf(const DueRetest& due) { return {due.drain.node_uuid, due.drain.condition}; }

}  // namespace

absl::StatusOr<std::optional<std::string>> Retests::Earlier(const DueRetest& due, absl::Time now) {
  const std::string& id = due.drain.validation_id;
  if (id.empty()) return std::optional<std::string>();
  std::optional<std::string> result;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const ValidationRecord validation, txn.validations().Get(id));
    if (validation.state == ValidationRecord::kRunning) {
      result = absl::StrCat(id, " is testing it");
      return absl::OkStatus();
    }
    // It was well and bad again since.
    if (validation.finished_at.has_value() && due.drain.good_since.has_value() &&
        *validation.finished_at < *due.drain.good_since)
      return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::vector<ValidationNodeRecord> nodes,
                     txn.validations().ListNodes(id));
    const bool has_failed =
        std::any_of(nodes.begin(), nodes.end(), [&](const ValidationNodeRecord& node) {
          return node.node_uuid == due.drain.node_uuid && !node.is_witness &&
                 node.outcome == v1::OUTCOME_FAIL;
        });
    const absl::Time repeat_at = validation.finished_at.value_or(now) + kRepeatInterval;
    if (has_failed) {
      result = absl::StrCat("failed ", id, ": repair it, then: muster validate ", due.node,
                            " --suite ", due.suite);
    } else if (now < repeat_at && repeat_at - now <= kRepeatInterval) {
      result = absl::StrCat(id, " did not tell; repeated within an hour");
    }
    return absl::OkStatus();
  }));
  return result;
}

absl::StatusOr<std::string> Retests::Begin(const DueRetest& due) {
  v1::CreateValidationRequest request;
  request.set_suite(due.suite);
  request.set_nodes(due.node);
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(*request.mutable_bundle_sha256(), BundleOf(txn, due));
    return absl::OkStatus();
  }));
  ASSIGN_OR_RETURN(std::string id, start_(request));
  absl::MutexLock lock(&rows_);
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    // The node may have been let go while Slurm was asked.
    ASSIGN_OR_RETURN(std::optional<HealthDrainRecord> drain, FindHeld(txn, KeyOf(due)));
    if (!drain.has_value()) return absl::OkStatus();
    drain->validation_id = id;
    return txn.health().PutDrain(*drain);
  }));
  return id;
}

bool Retests::Refresh(DueRetest& due) {
  const absl::Status read = store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::optional<HealthDrainRecord> drain, FindHeld(txn, KeyOf(due)));
    if (!drain.has_value()) return absl::NotFoundError("the node is not held any more");
    due.drain = *drain;
    return absl::OkStatus();
  });
  return read.ok() && due.drain.good_since.has_value();
}

void Retests::Start(DueRetest due, absl::Time now) {
  const NodeCondition key = KeyOf(due);
  if (!tries_.IsDue(key, now) || !Refresh(due)) return;
  if (const auto earlier = Earlier(due, now); earlier.ok() && earlier->has_value())
    return tries_.Note(key, now, **earlier);
  const absl::StatusOr<std::string> id = Begin(due);
  tries_.Note(key, now,
              id.ok() ? absl::StrCat(*id, " is testing it") : std::string(id.status().message()));
}

}  // namespace muster::controller::health
