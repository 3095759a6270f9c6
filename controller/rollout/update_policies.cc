#include "controller/rollout/update_policies.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/update_policy.h"
#include "controller/rollout/preparation.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/run/run_engine.h"
#include "controller/store/store.h"

namespace muster::controller::rollout {
namespace {

// The revisions of the inventory whose digests are remembered: two for each policy matter.
constexpr size_t kContentsKept = 256;
// Answers of Covers(), each of which may have needed an old revision.
constexpr size_t kAnswersKept = 10'000;

RunActor ActorOf(const UpdatePolicy& policy) {
  RunActor actor;
  static_cast<Actor&>(actor) = PolicyActor(policy.name);
  actor.mandate.actor = actor.name;
  return actor;
}

v1::CreateRolloutRequest RequestOf(const StoredPolicy& stored) {
  v1::CreateRolloutRequest request = stored.policy->request;
  if (stored.view.accepted.has_value()) request.set_bundle_sha256(stored.view.accepted->bundle);
  return request;
}

v1::UpdatePolicy ToProto(const StoredPolicy& stored) {
  const PolicyView& view = stored.view;
  const PolicyDecision decision = DecidePolicy(view);
  v1::UpdatePolicy proto;
  proto.set_name(stored.policy->name);
  *proto.mutable_request() = RequestOf(stored);
  proto.set_state(decision.state);
  proto.set_message(decision.message);
  if (view.last.has_value()) proto.set_rollout_id(view.last->rollout_id);
  if (!IsOpen(view.windows, view.now, view.zone)) {
    *proto.mutable_next_window() = ToTimestamp(NextOpening(view.windows, view.now, view.zone));
  }
  proto.set_inventory_revision(view.revision);
  return proto;
}

}  // namespace

UpdatePolicies::UpdatePolicies(RolloutCollaborators collaborators, RolloutManager& rollouts)
    : with_(std::move(collaborators)),
      rollouts_(rollouts),
      worker_(with_.clock, [this] { return Step(); }) {}

UpdatePolicies::~UpdatePolicies() { Stop(); }

absl::StatusOr<std::vector<StoredPolicy>> UpdatePolicies::Look() {
  std::vector<StoredPolicy> all;
  const absl::StatusOr<InventoryVersion> inventory = with_.inventory.Latest();
  if (absl::IsNotFound(inventory.status())) return all;
  RETURN_IF_ERROR(inventory.status());
  if (inventory->inventory->updates().empty()) return all;
  std::vector<PolicyRecords> records;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    for (const auto& policy : inventory->inventory->updates()) {
      ASSIGN_OR_RETURN(PolicyRecords of_policy, ReadPolicy(txn, policy));
      records.push_back(std::move(of_policy));
    }
    return absl::OkStatus();
  }));
  for (PolicyRecords& of_policy : records) {
    const std::shared_ptr<const UpdatePolicy> policy = of_policy.policy;
    const auto covers = [&](uint64_t revision, const std::string& limit) {
      return CoversNodes(*policy, inventory->revision, revision, limit);
    };
    ASSIGN_OR_RETURN(StoredPolicy stored, ViewOf(std::move(of_policy), covers));
    stored.view.revision = inventory->revision;
    RETURN_IF_ERROR(LookUpContents(stored));
    const absl::Time now = stored.view.now = with_.clock.Now();
    stored.view.zone = absl::LocalTimeZone();
    absl::MutexLock lock(&mutex_);
    const auto refused = refused_.find(stored.policy->name);
    // A clock that was set back does not keep it from trying.
    if (refused != refused_.end() && refused->second.retry_at - now <= kRetryInterval)
      stored.view.refused = refused->second;
    all.push_back(std::move(stored));
  }
  return all;
}

absl::StatusOr<bool> UpdatePolicies::CoversNodes(const UpdatePolicy& policy, uint64_t in_force,
                                                 uint64_t revision, const std::string& limit) {
  const std::string question = absl::StrCat(in_force, " ", policy.name, " ", revision, " ", limit);
  {
    absl::MutexLock lock(&mutex_);
    const auto found = covers_.find(question);
    if (found != covers_.end()) return found->second;
  }
  ASSIGN_OR_RETURN(const bool covers, Covers(with_.inventory, revision, limit, policy.nodes));
  absl::MutexLock lock(&mutex_);
  if (covers_.size() >= kAnswersKept) covers_.clear();
  covers_[question] = covers;
  return covers;
}

absl::Status UpdatePolicies::LookUpContents(StoredPolicy& stored) {
  PolicyView& view = stored.view;
  ASSIGN_OR_RETURN(view.content, ContentOf(view.revision));
  if (view.last.has_value() && stored.last_revision != 0) {
    ASSIGN_OR_RETURN(view.last->pair.content, ContentOf(stored.last_revision));
  }
  if (view.applied.has_value()) {
    ASSIGN_OR_RETURN(view.applied->pair.content, ContentOf(stored.applied_revision));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> UpdatePolicies::ContentOf(uint64_t revision) {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = contents_.find(revision);
    if (found != contents_.end()) return found->second;
  }
  const absl::StatusOr<std::shared_ptr<const Inventory>> inventory = with_.inventory.Get(revision);
  // Applied by an earlier version that read inventories in another way: not what is in force now.
  const bool is_unreadable =
      absl::IsInvalidArgument(inventory.status()) || absl::IsNotFound(inventory.status());
  if (!inventory.ok() && !is_unreadable) return inventory.status();
  const std::string content = inventory.ok() ? ContentDigest(**inventory) : "";
  absl::MutexLock lock(&mutex_);
  if (contents_.size() >= kContentsKept) contents_.clear();
  contents_[revision] = content;
  return content;
}

absl::StatusOr<std::vector<v1::UpdatePolicy>> UpdatePolicies::List() {
  ASSIGN_OR_RETURN(const std::vector<StoredPolicy> all, Look());
  std::vector<v1::UpdatePolicy> policies;
  for (const StoredPolicy& stored : all) policies.push_back(ToProto(stored));
  return policies;
}

absl::Time UpdatePolicies::Step() {
  const absl::Status looked = StartDue();
  if (!looked.ok() && warned_ != looked.message() && with_.warn)
    with_.warn(absl::StrCat("update policies: ", looked.message()));
  warned_ = std::string(looked.message());
  return with_.clock.Now() + kInterval;
}

absl::Status UpdatePolicies::StartDue() {
  ASSIGN_OR_RETURN(const std::vector<StoredPolicy> all, Look());
  for (const StoredPolicy& stored : all) {
    if (worker_.is_stopping()) break;
    if (!DecidePolicy(stored.view).starts) continue;
    const absl::Status created =
        rollouts_.Create(RequestOf(stored), ActorOf(*stored.policy)).status();
    if (!created.ok()) Refuse(stored, created);
  }
  return absl::OkStatus();
}

void UpdatePolicies::Refuse(const StoredPolicy& stored, const absl::Status& status) {
  PolicyView::Refusal refusal;
  refusal.pair = {stored.view.accepted->bundle, stored.view.content};
  refusal.message = std::string(status.message());
  refusal.may_pass = MayBeTemporary(status);
  refusal.retry_at = with_.clock.Now() + kRetryInterval;
  const std::string& name = stored.policy->name;
  if (with_.warn &&
      (!stored.view.refused.has_value() || stored.view.refused->message != refusal.message))
    with_.warn(absl::StrCat("update policy ", name, " could not start: ", refusal.message));
  absl::MutexLock lock(&mutex_);
  refused_[name] = std::move(refusal);
}

}  // namespace muster::controller::rollout
