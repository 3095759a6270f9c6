// RunEngine: nodes that ask whether they may reboot.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/run/active_run.h"
#include "controller/run/plan_finish.h"
#include "controller/run/run_engine.h"
#include "controller/run/run_records.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace {

// How long an agent may wait between the permit and the reboot: moments, but for clocks that
// differ.
constexpr absl::Duration kPermitLifetime = absl::Minutes(5);
constexpr absl::Duration kDefaultPatience = absl::Minutes(15);
constexpr int kJobsShown = 5;
// Of a text of an agent's that goes to the audit log.
constexpr size_t kMaxReason = 500;

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

std::string Jobs(const v1::RebootRequest& request) {
  std::vector<std::string> shown;
  for (const std::string& job : request.running_jobs()) {
    if (static_cast<int>(shown.size()) == kJobsShown) break;
    shown.push_back(job);
  }
  const int more = request.running_jobs_size() - static_cast<int>(shown.size());
  return absl::StrCat(absl::StrJoin(shown, ", "),
                      more > 0 ? absl::StrCat(" and ", more, " more") : "");
}

// What the audit log says of a question.
std::string Detail(const std::string& run_id, const v1::RebootRequest& request) {
  return absl::StrCat("run ", run_id, ", step ", request.step_id(), ", boot ", request.boot_id(),
                      ": ", request.reason().substr(0, kMaxReason),
                      request.running_jobs().empty()
                          ? ""
                          : absl::StrCat("; Slurm jobs that run there: ", Jobs(request)));
}

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

void RunEngine::OnRebootRequest(const std::string& uuid, const v1::RebootRequest& request) {
  std::string run_id;
  uint32_t play = 0;
  if (!ParsePlanId(request.plan_id(), run_id, play) || request.request_id().empty()) return;
  ActiveRun* run = Find(run_id);
  const RunNode* node = run == nullptr ? nullptr : run->state.FindByUuid(uuid);
  const auto refuse = [&](const std::string& why) {
    RefuseReboot(run, uuid, node == nullptr ? uuid : node->name, request, why);
  };
  if (run == nullptr || node == nullptr || IsOut(node->phase) || node->play != play ||
      node->phase == NodePhase::kDone) {
    return refuse(absl::StrCat("run ", run_id,
                               " does not wait for this node any more; a new apply "
                               "reboots it"));
  }
  if (run->state.cancelling()) return refuse(absl::StrCat("run ", run_id, " was cancelled"));
  const auto plan = run->plans.find(node->name);
  if (plan == run->plans.end()) return;  // a restarted controller compiles it soon
  v1::ControllerMessage sent;
  sent.ParseFromString(*plan->second);
  const v1::Step* step = FindStep(sent.plan(), request.step_id());
  if (step == nullptr || !step->has_reboot()) {
    return refuse(absl::StrCat("the plan has no reboot '", request.step_id(), "'"));
  }
  const v1::RebootResource& reboot = step->reboot();
  if (!request.running_jobs().empty() && !reboot.with_running_jobs() &&
      !run->request.reboot_with_jobs()) {
    return refuse(absl::StrCat("Slurm jobs run on ", node->name, ": ", Jobs(request),
                               "; drain it (`scontrol update ", "nodename=", node->name,
                               " state=drain reason=reboot`) and apply again when they have ",
                               "ended, or end them with `muster apply --reboot-with-jobs`"));
  }
  GrantReboot(*run, *node, request,
              reboot.has_timeout() ? ToDuration(reboot.timeout()) : kDefaultPatience);
}

void RunEngine::GrantReboot(ActiveRun& run, const RunNode& node, const v1::RebootRequest& request,
                            absl::Duration patience) {
  const absl::Time now = with_.clock.Now();
  const auto given = run.reboots.find(node.name);
  if (given != run.reboots.end() && given->second.request_id == request.request_id() &&
      given->second.boot_id == request.boot_id() && now < given->second.expires_at) {
    with_.sessions.Send(node.uuid, PermitOf(given->second, request)).IgnoreError();
    return;
  }
  if (++run.reboot_questions[node.name] > kMaxRebootQuestions) {
    return RefuseReboot(
        &run, node.uuid, node.name, request,
        absl::StrCat(node.name, " asked ", kMaxRebootQuestions,
                     " times in this run whether it may reboot; look at its agent"));
  }
  RebootRecord record;
  record.permit_id = NewUuid();
  record.run_id = run.record.run_id;
  record.node = node.name;
  record.node_uuid = node.uuid;
  record.step_id = request.step_id();
  record.request_id = request.request_id();
  record.boot_id = request.boot_id();
  record.granted_at = now;
  record.expires_at = now + kPermitLifetime;
  record.back_by = now + patience;
  RunNode after = node;
  after.reboot = NodeReboot{record.boot_id, record.step_id, record.back_by};
  const absl::Status stored = with_.store.Update([&](Transaction& txn) -> absl::Status {
    if (given != run.reboots.end()) {
      RebootRecord earlier = given->second;
      earlier.ended_at = now;
      RETURN_IF_ERROR(txn.reboots().Put(earlier));
    }
    RETURN_IF_ERROR(txn.reboots().Put(record));
    RETURN_IF_ERROR(txn.runs().PutNode(ToRecord(run.record.run_id, after)));
    EventRecord event;
    event.time = now;
    event.actor = absl::StrCat("node:", node.uuid);
    event.action = "reboot.permit";
    event.subject = node.name;
    event.detail = Detail(run.record.run_id, request);
    return txn.events().Append(std::move(event));
  });
  if (!stored.ok()) return;  // the agent asks again
  with_.sessions.Send(node.uuid, PermitOf(record, request)).IgnoreError();
  run.reboots[node.name] = std::move(record);
  Perform(run, run.state.Replace({after}));
}

void RunEngine::RefuseReboot(ActiveRun* run, const std::string& uuid, const std::string& node,
                             const v1::RebootRequest& request, const std::string& why) {
  // Once for each question, however often it is repeated: the audit log never shrinks.
  if (run != nullptr && run->refused_reboots[node] != request.request_id() &&
      ++run->reboot_questions[node] <= kMaxRebootQuestions) {
    const absl::Status stored = with_.store.Update([&](Transaction& txn) {
      EventRecord event;
      event.time = with_.clock.Now();
      event.actor = absl::StrCat("node:", uuid);
      event.action = "reboot.refuse";
      event.subject = node;
      event.detail = Detail(run->record.run_id, request);
      return txn.events().Append(std::move(event));
    });
    if (!stored.ok()) return;  // the agent asks again
    run->refused_reboots[node] = request.request_id();
  }
  v1::ControllerMessage message = NewAnswer(request);
  message.mutable_reboot_answer()->set_refusal(why);
  with_.sessions.Send(uuid, message).IgnoreError();
}

void RunEngine::EndReboots(ActiveRun& run) {
  for (auto it = run.reboots.begin(); it != run.reboots.end();) {
    const RunNode* node = run.state.FindByName(it->first);
    if (node != nullptr && node->reboot.has_value()) {
      ++it;
      continue;
    }
    RebootRecord ended = it->second;
    ended.ended_at = with_.clock.Now();
    // What the store could not keep is ended again after a restart, when the node connects.
    with_.store.Update([&](Transaction& txn) { return txn.reboots().Put(ended); }).IgnoreError();
    it = run.reboots.erase(it);
  }
}

absl::Status RunEngine::ResumeReboots(ActiveRun& run, std::vector<RunNode>& nodes) {
  std::vector<RebootRecord> open;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(open, txn.reboots().ListOpen(run.record.run_id));
    return absl::OkStatus();
  }));
  for (RebootRecord& reboot : open) {
    for (RunNode& node : nodes) {
      if (node.name != reboot.node || IsOut(node.phase)) continue;
      node.reboot = NodeReboot{reboot.boot_id, reboot.step_id, reboot.back_by};
    }
    run.reboots[reboot.node] = std::move(reboot);
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
