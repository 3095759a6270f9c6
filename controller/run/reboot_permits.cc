#include "controller/run/reboot_permits.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "common/base/text/slurm_job.h"
#include "controller/audit/audit.h"
#include "controller/inventory/inventory.h"
#include "controller/run/active_run.h"
#include "controller/run/plan/plan_finish.h"
#include "controller/run/plan/reboot_room.h"
#include "controller/run/run_records.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// The time between the permit and the reboot: normally moments, except that clocks differ. Never
// longer than the run waits for the node, whose hold ends then.
constexpr absl::Duration kPermitLifetime = absl::Minutes(5);
// An agent that has not asked for this long does not wait any more.
constexpr absl::Duration kAskedLately = absl::Seconds(20);
// The reason of the hold; the gate adds the run.
constexpr absl::string_view kHoldReason = "being rebooted";
constexpr absl::Duration kDefaultPatience = absl::Minutes(15);
// Limits on an agent's texts: ids are UUIDs. The audit log never shrinks, so the size of its
// entries is limited, as is their number (see RebootPermits::kMaxQuestions).
constexpr size_t kMaxIdBytes = 64;
constexpr size_t kMaxStepIdBytes = 200;
constexpr size_t kMaxReasonBytes = 500;

const v1::Step* FindStep(const v1::Plan& plan, const std::string& step_id) {
  for (const v1::RolePlan& role : plan.roles()) {
    for (const auto* steps : {&role.steps(), &role.handlers()}) {
      for (const v1::Step& step : *steps) {
        if (step.step_id() == step_id) return &step;
      }
    }
  }
  return nullptr;
}

// At most `limit` bytes, without cutting a character: `text` is UTF-8, which protobuf requires.
std::string Cut(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0) == 0x80) --limit;
  return absl::StrCat(text.substr(0, limit), "…");
}

// "job 4 (root, s3) runs on c004".
std::string Jobs(const v1::RebootRequest& request, const std::string& node) {
  SlurmJobsByNode jobs;
  for (const v1::SlurmJobInfo& job : request.running_jobs())
    jobs[node].push_back({job.id(), job.user(), job.name()});
  return DescribeWhere(jobs);
}

std::string RefusalFor(const std::string& jobs) {
  return absl::StrCat(jobs,
                      "; drain the node in Slurm and apply again when its jobs have ended, or end "
                      "them with `muster apply --reboot-with-jobs`");
}

// The text of the audit log about a request.
std::string Detail(const std::string& run_id, const std::string& node,
                   const v1::RebootRequest& request) {
  return absl::StrCat(
      "run ", run_id, ", step ", Cut(request.step_id(), kMaxStepIdBytes), ", boot ",
      request.boot_id(), ": ", Cut(request.reason(), kMaxReasonBytes),
      request.running_jobs().empty() ? "" : absl::StrCat("; ", Jobs(request, node)));
}

bool IsId(const std::string& text) { return !text.empty() && text.size() <= kMaxIdBytes; }

v1::ControllerMessage NewAnswer(const v1::RebootRequest& request) {
  v1::ControllerMessage message;
  v1::RebootAnswer& answer = *message.mutable_reboot_answer();
  answer.set_plan_id(request.plan_id());
  answer.set_step_id(request.step_id());
  answer.set_request_id(request.request_id());
  return message;
}

v1::ControllerMessage PermitOf(const RebootRecord& reboot, const v1::RebootRequest& request) {
  v1::ControllerMessage message = NewAnswer(request);
  v1::RebootPermit& permit = *message.mutable_reboot_answer()->mutable_permit();
  permit.set_permit_id(reboot.permit_id);
  permit.set_node_uuid(reboot.node_uuid);
  permit.set_boot_id(reboot.boot_id);
  *permit.mutable_expires_at() = ToTimestamp(reboot.expires_at);
  return message;
}

}  // namespace

RebootPermits::RebootPermits(const RunCollaborators& with, AllRuns all_runs, Perform perform)
    : with_(with), all_runs_(std::move(all_runs)), perform_(std::move(perform)) {}

absl::StatusOr<std::string> RebootPermits::WhyWait(const ActiveRun& asking_run,
                                                   const std::string& node) {
  ASSIGN_OR_RETURN(const InventoryVersion current, with_.inventory.Latest());
  const Inventory& inventory = *current.inventory;
  const Node* asking = inventory.FindNode(node);
  if (asking == nullptr) return std::string();  // it is about to leave the cluster
  ASSIGN_OR_RETURN(const RebootLimits limits, RebootLimitsOf(inventory, *asking));
  std::vector<OpenReboot> open;
  const absl::Time now = with_.clock.Now();
  const bool has_place = asking_run.drains.count(node) > 0;
  for (const ActiveRun* run : all_runs_()) {
    for (const auto& [name, reboot] : run->reboots) {
      const RunNode* other = run->state.FindByName(name);
      // One that did not come back in time has left its run, and holds up nobody.
      if (name == node || other == nullptr || !other->reboot.has_value()) continue;
      open.push_back({name, RebootPlaceOf(inventory, name)});
    }
    // Those that are being drained for their reboot come first, or all would be drained at once.
    for (const auto& [name, drain] : run->drains) {
      const bool has_permit = run->reboots.count(name) > 0;  // and is in the list already
      if (!has_place && !has_permit && now - drain.asked < kAskedLately && name != node)
        open.push_back({name, RebootPlaceOf(inventory, name)});
    }
  }
  const RebootPlace place = RebootPlaceOf(inventory, node);
  const auto last = last_in_rack_.find(place.rack);
  return WhyNoRoom(limits, place, open,
                   last == last_in_rack_.end() ? absl::InfinitePast() : last->second, now);
}

bool RebootPermits::IsWorker(const std::string& node) {
  const absl::StatusOr<InventoryVersion> current = with_.inventory.Latest();
  const Node* known = current.ok() ? current->inventory->FindNode(node) : nullptr;
  // One that is about to leave the cluster may still be in Slurm.
  return known == nullptr || known->role == NodeRole::kCompute;
}

validation::DrainAnswer RebootPermits::Drain(ActiveRun& run, const RunNode& node,
                                             const v1::RebootRequest& request) {
  using Answer = validation::DrainAnswer;
  const absl::Time now = with_.clock.Now();
  auto drain = run.drains.find(node.name);
  // A hold from the future is one from before the clock was set back.
  if (drain == run.drains.end() || drain->second.since > now) {
    const absl::Status stored = with_.store.Update([&](Transaction& txn) {
      return txn.node_holds().Put({node.uuid, run.record.run_id, std::string(kHoldReason), now});
    });
    if (!stored.ok()) return {Answer::kNotYet, std::string(stored.message()), {}};
    drain = run.drains.insert_or_assign(node.name, RebootDrain{now, "", now, now}).first;
  }
  if (drain->second.request_id != request.request_id()) {
    drain->second.request_id = request.request_id();
    drain->second.begun = now;
  }
  drain->second.asked = now;
  return with_.drains->Ask(node.name, drain->second.since);
}

void RebootPermits::Free(ActiveRun& run, const std::vector<std::string>& nodes) {
  if (nodes.empty()) return;
  const absl::Status stored = with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const std::string& name : nodes) {
      const RunNode* node = run.state.FindByName(name);
      if (node != nullptr) RETURN_IF_ERROR(txn.node_holds().Delete(node->uuid, run.record.run_id));
    }
    return absl::OkStatus();
  });
  if (!stored.ok()) return;  // at the next tick, or with the run's end
  for (const std::string& name : nodes) run.drains.erase(name);
  if (with_.on_service_changed) with_.on_service_changed();
}

absl::Status RebootPermits::FreeAll(Transaction& txn, const std::string& run_id) {
  ASSIGN_OR_RETURN(const std::vector<NodeHoldRecord> holds, txn.node_holds().List());
  for (const NodeHoldRecord& hold : holds) {
    if (hold.owner == run_id) RETURN_IF_ERROR(txn.node_holds().Delete(hold.node_uuid, run_id));
  }
  return absl::OkStatus();
}

void RebootPermits::ShowWait(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request,
                             const std::string& why) {
  v1::RunEvent event;
  *event.mutable_time() = ToTimestamp(with_.clock.Now());
  event.set_node(node.name);
  v1::StepProgress& progress = *event.mutable_progress();
  progress.set_plan_id(request.plan_id());
  progress.set_step_id(request.step_id());
  progress.set_name("reboot");
  progress.set_activity(absl::StrCat("waits to reboot: ", why));
  run.log->Pass(std::move(event));
}

void RebootPermits::Answer(const std::string& uuid, const v1::RebootRequest& request,
                           const FindRun& find) {
  std::string run_id;
  uint32_t play = 0;
  // No agent sends such a request.
  if (!ParsePlanId(request.plan_id(), run_id, play) || !IsId(request.request_id()) ||
      !IsId(request.boot_id()))
    return;
  ActiveRun* run = find(run_id);
  const RunNode* node = run == nullptr ? nullptr : run->state.FindByUuid(uuid);
  const auto refuse = [&](const std::string& why) {
    Refuse(run, uuid, node == nullptr ? uuid : node->name, request, why);
  };
  if (run == nullptr || node == nullptr || IsOut(node->phase) || node->play != play ||
      node->phase == NodePhase::kDone) {
    return refuse(
        absl::StrCat("run ", run_id, " no longer waits for this node; a new apply reboots it"));
  }
  if (run->state.cancelling()) return refuse(absl::StrCat("run ", run_id, " was cancelled"));
  const auto plan = run->plans.find(node->name);
  if (plan == run->plans.end()) return;  // a restarted controller will compile it soon
  v1::ControllerMessage sent;
  sent.ParseFromString(*plan->second);
  const v1::Step* step = FindStep(sent.plan(), request.step_id());
  if (step == nullptr || (!step->has_reboot() && !step->has_last_reboot())) {
    return refuse(
        absl::StrCat("the plan has no reboot '", Cut(request.step_id(), kMaxStepIdBytes), "'"));
  }
  const v1::RebootResource& reboot = step->reboot();  // the defaults for a last one
  const bool jobs_may_end = reboot.with_running_jobs() || run->request.reboot_with_jobs();
  if (!request.running_jobs().empty() && !jobs_may_end)
    return refuse(RefusalFor(Jobs(request, node->name)));
  const auto given = run->reboots.find(node->name);
  const bool is_repeated =
      given != run->reboots.end() && given->second.request_id == request.request_id() &&
      given->second.boot_id == request.boot_id() && with_.clock.Now() < given->second.expires_at;
  if (!is_repeated) {
    const absl::StatusOr<std::string> why = WhyWait(*run, node->name);
    if (absl::IsFailedPrecondition(why.status()))
      return refuse(std::string(why.status().message()));
    if (!why.ok()) return;  // the store does not answer: the agent asks again
    if (!why->empty()) return ShowWait(*run, *node, request, *why);
    if (with_.drains != nullptr && !jobs_may_end && IsWorker(node->name) &&
        !IsDrained(*run, *node, request)) {
      return;
    }
  }
  Grant(*run, *node, request, reboot);
}

absl::Status RebootPermits::OrderImage(const RebootRecord& reboot, const std::string& image,
                                       const std::string& creator,
                                       absl::FunctionRef<absl::Status(Transaction&)> permit) const {
  if (with_.order_image) {
    return with_.order_image(reboot.permit_id, reboot.node, image, {.name = creator, .peer = ""},
                             permit);
  }
  return absl::FailedPreconditionError(
      absl::StrCat(image,
                   " comes from the boot server, which is off: set boot_listen in "
                   "/etc/muster/controller.yaml and restart musterd"));
}

absl::Status RebootPermits::TakeBack(const RebootRecord& reboot) const {
  if (!with_.take_back_image) return absl::OkStatus();
  return with_.take_back_image(reboot.permit_id, reboot.node);
}

void RebootPermits::TakeBackAll(const std::string& run_id) {
  std::vector<RebootRecord> open;
  const absl::Status read = with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(open, txn.reboots().ListOpen(run_id));
    return absl::OkStatus();
  });
  if (!read.ok()) return;
  for (const RebootRecord& reboot : open) TakeBack(reboot).IgnoreError();
}

bool RebootPermits::IsDrained(ActiveRun& run, const RunNode& node,
                              const v1::RebootRequest& request) {
  using Answer = validation::DrainAnswer;
  const Answer answer = Drain(run, node, request);
  if (answer.kind == Answer::kIdle) return true;
  const auto drain = run.drains.find(node.name);
  if (drain == run.drains.end()) return false;  // the store does not answer: the agent asks again
  if (answer.kind == Answer::kJobs) {
    // The audit log gets the jobs, too.
    v1::RebootRequest with_jobs = request;
    for (const SlurmJob& job : answer.jobs) {
      v1::SlurmJobInfo& told = *with_jobs.add_running_jobs();
      told.set_id(job.id);
      told.set_user(job.user);
      told.set_name(job.name);
    }
    Refuse(&run, node.uuid, node.name, with_jobs, RefusalFor(Jobs(with_jobs, node.name)));
  } else if (with_.clock.Now() - drain->second.begun >= kDrainPatience) {
    Refuse(&run, node.uuid, node.name, request,
           absl::StrCat(node.name, " could not be drained in Slurm within ",
                        HumanDuration(kDrainPatience), ": ", answer.why,
                        "; apply again when Slurm answers, or with `--reboot-with-jobs` if its "
                        "jobs may end"));
  } else {
    ShowWait(run, node, request, absl::StrCat("it is being drained in Slurm: ", answer.why));
  }
  return false;
}

void RebootPermits::Grant(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request,
                          const v1::RebootResource& reboot) {
  const absl::Time now = with_.clock.Now();
  const auto given = run.reboots.find(node.name);
  if (given != run.reboots.end() && given->second.request_id == request.request_id() &&
      given->second.boot_id == request.boot_id() && now < given->second.expires_at) {
    with_.sessions.Send(node.uuid, PermitOf(given->second, request)).IgnoreError();
    return;
  }
  if (run.reboot_questions[node.name] >= kMaxQuestions) {
    return Refuse(&run, node.uuid, node.name, request,
                  absl::StrCat(node.name, " asked ", kMaxQuestions,
                               " times in this run whether it may reboot; check its agent"));
  }
  const absl::Duration patience =
      reboot.has_timeout() ? ToDuration(reboot.timeout()) : kDefaultPatience;
  RebootRecord record;
  record.permit_id = NewUuid();
  record.run_id = run.record.run_id;
  record.node = node.name;
  record.node_uuid = node.uuid;
  record.step_id = request.step_id();
  record.request_id = request.request_id();
  record.boot_id = request.boot_id();
  record.granted_at = now;
  record.expires_at = now + std::min(kPermitLifetime, patience);
  record.back_by = now + patience;
  RunNode after = node;
  after.reboot = NodeReboot{record.boot_id, record.step_id, record.back_by};
  const auto store_permit = [&](Transaction& txn) -> absl::Status {
    if (given != run.reboots.end()) {
      RebootRecord earlier = given->second;
      earlier.ended_at = now;
      RETURN_IF_ERROR(txn.reboots().Put(earlier));
    }
    RETURN_IF_ERROR(txn.reboots().Put(record));
    RETURN_IF_ERROR(txn.runs().PutNode(ToRecord(run.record.run_id, after)));
    return Audit(txn, now, NodeActor(node.uuid), "reboot.permit", node.name,
                 Detail(run.record.run_id, node.name, request));
  };
  absl::Status stored;
  if (!reboot.image().empty()) {
    stored = OrderImage(record, reboot.image(), run.record.created_by, store_permit);
    if (absl::IsInvalidArgument(stored) || absl::IsNotFound(stored) ||
        absl::IsFailedPrecondition(stored)) {
      return Refuse(&run, node.uuid, node.name, request, std::string(stored.message()));
    }
  } else {
    if (given != run.reboots.end()) stored = TakeBack(given->second);
    if (stored.ok()) stored = with_.store.Update(store_permit);
  }
  if (!stored.ok()) return;  // the store does not answer: the agent asks again
  with_.sessions.Send(node.uuid, PermitOf(record, request)).IgnoreError();
  ++run.reboot_questions[node.name];
  run.reboots[node.name] = std::move(record);
  if (const auto drain = run.drains.find(node.name); drain != run.drains.end())
    drain->second.asked = absl::InfinitePast();
  NoteBegin(node.name, now);
  perform_(run, run.state.Replace({after}));
}

void RebootPermits::Refuse(ActiveRun* run, const std::string& uuid, const std::string& node,
                           const v1::RebootRequest& request, const std::string& why) {
  // Once for each request, however often it is repeated: the audit log never shrinks.
  if (run != nullptr && run->refused_reboots[node] != request.request_id() &&
      run->reboot_questions[node] < kMaxQuestions) {
    const absl::Status stored = with_.store.Update([&](Transaction& txn) {
      return Audit(txn, with_.clock.Now(), NodeActor(uuid), "reboot.refuse", node,
                   Detail(run->record.run_id, node, request));
    });
    if (!stored.ok()) return;  // the agent asks again
    ++run->reboot_questions[node];
    run->refused_reboots[node] = request.request_id();
  }
  // Not while a permit is out: it might still be used.
  if (run != nullptr && run->drains.count(node) > 0 && run->reboots.count(node) == 0)
    Free(*run, {node});
  v1::ControllerMessage message = NewAnswer(request);
  message.mutable_reboot_answer()->set_refusal(why);
  with_.sessions.Send(uuid, message).IgnoreError();
}

void RebootPermits::End(ActiveRun& run) {
  std::vector<std::string> freed;
  for (const auto& [name, drain] : run.drains) {
    const RunNode* node = run.state.FindByName(name);
    if (node == nullptr || IsOut(node->phase) || node->phase == NodePhase::kDone)
      freed.push_back(name);
  }
  Free(run, freed);
  std::vector<RebootRecord> ended;
  for (const auto& [name, reboot] : run.reboots) {
    const RunNode* node = run.state.FindByName(name);
    if (node != nullptr && node->reboot.has_value()) continue;
    if (!TakeBack(reboot).ok()) continue;  // at the next tick
    ended.push_back(reboot);
    ended.back().ended_at = with_.clock.Now();
  }
  if (ended.empty()) return;
  const absl::Status stored = with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const RebootRecord& reboot : ended) RETURN_IF_ERROR(txn.reboots().Put(reboot));
    return absl::OkStatus();
  });
  if (!stored.ok()) return;  // together with the next node's report
  for (const RebootRecord& reboot : ended) run.reboots.erase(reboot.node);
}

void RebootPermits::NoteBegin(const std::string& node, absl::Time begun) {
  const absl::StatusOr<InventoryVersion> current = with_.inventory.Latest();
  if (!current.ok()) return;
  absl::Time& last =
      last_in_rack_.try_emplace(RebootPlaceOf(*current->inventory, node).rack, absl::InfinitePast())
          .first->second;
  last = std::max(last, begun);
}

absl::Status RebootPermits::Resume(ActiveRun& run, std::vector<RunNode>& nodes) {
  std::vector<RebootRecord> open;
  std::vector<NodeHoldRecord> holds;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(open, txn.reboots().ListOpen(run.record.run_id));
    ASSIGN_OR_RETURN(holds, txn.node_holds().List());
    return absl::OkStatus();
  }));
  for (const NodeHoldRecord& hold : holds) {
    if (hold.owner != run.record.run_id) continue;
    for (const RunNode& node : nodes) {
      if (node.uuid == hold.node_uuid) run.drains[node.name].since = hold.since;
    }
  }
  for (RebootRecord& reboot : open) {
    for (RunNode& node : nodes) {
      // Otherwise its end came but was not stored.
      if (node.name != reboot.node || IsOut(node.phase) || node.phase == NodePhase::kDone) continue;
      node.reboot = NodeReboot{reboot.boot_id, reboot.step_id, reboot.back_by};
    }
    NoteBegin(reboot.node, reboot.granted_at);
    run.reboots[reboot.node] = std::move(reboot);
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
