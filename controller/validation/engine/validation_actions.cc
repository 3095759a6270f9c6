// ValidationEngine: messages from agents, and carrying out the decisions of ValidationState.
#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/validation_engine.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/verdict/expected_parameters.h"
#include "controller/validation/verdict/result_blob.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller::validation {
namespace {

// A check that its agent has not started by then is lost; the clocks of nodes may differ.
constexpr absl::Duration kStartWithin = absl::Minutes(5);
// The number of checks in one Hello that are told to stop; an agent has far fewer at once.
constexpr int kMaxStopsOfHello = 256;
constexpr char kUnwanted[] =
    "it is no longer needed: its validation has ended, or treats the node as lost";
// The parameter of checks that load GPUs.
constexpr char kMaxTemperature[] = "max-temperature";

void Append(ValidationActions more, ValidationActions& to) {
  for (ValidationAction& action : more) to.push_back(std::move(action));
}

// A GPU that gets too hot ends its test; the suite's own limit applies where it is lower.
void LimitTemperature(const checks::CheckSpec& spec, const Expectation& expectation,
                      google::protobuf::Map<std::string, std::string>& parameters) {
  const bool takes_it = std::any_of(
      spec.parameters.begin(), spec.parameters.end(),
      [](const checks::ParameterSpec& parameter) { return parameter.name == kMaxTemperature; });
  const std::optional<SourcedValue> limit = TemperatureLimitOf(expectation, expectation.gpu);
  if (!takes_it || !limit.has_value()) return;
  std::string& text = parameters[kMaxTemperature];
  double of_suite = 0;
  if (absl::SimpleAtod(text, &of_suite) && of_suite <= limit->value) return;
  text = absl::StrCat(limit->value);
}

}  // namespace

void ValidationEngine::OnConnected(const std::string& uuid, const v1::Hello& hello) {
  const std::set<std::string> ids(hello.check_ids().begin(), hello.check_ids().end());
  for (auto& [id, validation] : active_) {
    Append(validation->state.OnConnected(uuid, ids, with_.clock.Now()), validation->pending);
    validation->start_facts.OnLost(uuid);
    validation->final_facts.OnLost(uuid);
  }
  int stops = 0;
  for (const std::string& id : ids) {
    if (IsWanted(uuid, id)) continue;
    if (++stops > kMaxStopsOfHello) return;
    // Its power is no longer counted, and its node may be free.
    StopCheck(uuid, id, kUnwanted);
  }
}

bool ValidationEngine::IsWanted(const std::string& uuid, const std::string& check_id) {
  const ActiveValidation* validation = FindByCheck(check_id);
  const CheckPart* part = validation == nullptr ? nullptr : validation->state.Find(check_id);
  return part != nullptr && part->phase != PartPhase::kEnded &&
         validation->NodeOf(*part).uuid == uuid;
}

void ValidationEngine::OnDisconnected(const std::string& uuid) {
  // The end of an old stream may be noticed after the new one has begun.
  if (with_.sessions.IsConnected(uuid)) return;
  for (auto& [id, validation] : active_) {
    Append(validation->state.OnDisconnected(uuid, with_.clock.Now()), validation->pending);
    validation->start_facts.OnLost(uuid);
    validation->final_facts.OnLost(uuid);
  }
}

void ValidationEngine::OnUpdate(const std::string& uuid, const v1::CheckUpdate& update) {
  ActiveValidation* validation = FindByCheck(update.check_id());
  if (validation == nullptr) return;
  const CheckPart* part = validation->state.Find(update.check_id());
  if (part == nullptr) return;
  const ValidationNode& node = validation->NodeOf(*part);
  if (node.uuid != uuid) return;
  const absl::Time now = with_.clock.Now();
  const v1::CheckProgress& progress = update.progress();
  std::optional<PeerEndpoint> listening;
  if (progress.has_listening()) {
    listening = PeerEndpoint{progress.listening().address(), progress.listening().port()};
  }
  Append(validation->state.OnUpdate(update.check_id(), listening, now), validation->pending);
  if (const std::optional<double> watts = validation->watts.at(node.name).Take(progress, now)) {
    Append(validation->state.OnPower(node.name, *watts, now), validation->pending);
  }
  if (part->phase == PartPhase::kEnded) return;
  v1::ValidationEvent event;
  *event.mutable_time() = ToTimestamp(now);
  event.set_node(part->node);
  v1::RunningCheck& running = *event.mutable_running();
  running.set_check(std::string(validation->state.CheckOf(*part).spec->name));
  running.set_stage(validation->state.StageOf(*part).name);
  running.set_partner(std::string(part->Partner()));
  *running.mutable_progress() = progress;
  validation->events->Pass(std::move(event));
}

void ValidationEngine::OnReport(const std::string& uuid, const v1::CheckReport& report) {
  ActiveValidation* validation = FindByCheck(report.check_id());
  const CheckPart* part =
      validation == nullptr ? nullptr : validation->state.Find(report.check_id());
  if (part == nullptr || validation->NodeOf(*part).uuid != uuid) {
    Acknowledge(uuid, report.check_id());
    return;
  }
  if (part->phase == PartPhase::kEnded) {
    // A repeat of a report that the store has not taken yet: the agent must keep it.
    const std::pair<std::string, std::string> owed = {uuid, report.check_id()};
    const auto& unsaved = validation->acknowledgements;
    if (std::find(unsaved.begin(), unsaved.end(), owed) != unsaved.end()) return;
    Acknowledge(uuid, report.check_id());
    Append(validation->state.OnReport(report.check_id(), part->outcome, with_.clock.Now()),
           validation->pending);
    return;
  }
  const v1::CheckResult result = Sanitize(report.result());
  v1::CheckVerdict verdict = validation->Judge(*part, result);
  const PartOutcome outcome = ToPartOutcome(verdict.outcome());
  validation->results.push_back(
      {report.check_id(), with_.clock.Now(), PackResult(result), verdict.SerializeAsString()});
  validation->verdicts[report.check_id()] = std::move(verdict);
  validation->acknowledgements.emplace_back(uuid, report.check_id());
  Append(validation->state.OnReport(report.check_id(), outcome, with_.clock.Now()),
         validation->pending);
  validation->Compare(*part, result);
}

void ValidationEngine::Acknowledge(const std::string& uuid, const std::string& check_id) {
  v1::ControllerMessage message;
  message.mutable_check_report_stored()->set_check_id(check_id);
  // Lost with the connection: the report comes again.
  with_.sessions.Send(uuid, message).IgnoreError();
}

void ValidationEngine::Tick() {
  const absl::Time now = with_.clock.Now();
  for (auto& [id, validation] : active_) {
    Append(validation->state.Tick(now), validation->pending);
  }
  for (const auto& [check, reason] : std::exchange(unsent_stops_, {})) {
    StopCheck(check.first, check.second, reason);
  }
  Flush();
}

void ValidationEngine::Flush() {
  std::vector<std::string> ended;
  for (auto& [id, validation] : active_) {
    Perform(*validation);
    if (validation->record.state != ValidationRecord::kRunning) ended.push_back(id);
  }
  for (const std::string& id : ended) Remove(id);
}

void ValidationEngine::Perform(ActiveValidation& validation) {
  AskFacts(validation, /*at_end=*/false);
  // Stored first, then acted on. Failures stay for the next Tick().
  if (!StoreStart(validation).ok()) return;
  while (true) {
    if (!Persist(validation).ok()) return;
    for (const auto& [uuid, check_id] : std::exchange(validation.acknowledgements, {})) {
      Acknowledge(uuid, check_id);
    }
    if (validation.pending.empty()) break;
    for (const ValidationAction& action : std::exchange(validation.pending, {})) {
      Carry(validation, action);
    }
  }
  if (validation.finish_pending && validation.record.state == ValidationRecord::kRunning &&
      HaveFinalFacts(validation)) {
    // A failure here is tried again, too.
    Finish(validation).IgnoreError();
  }
}

absl::Status ValidationEngine::Persist(ActiveValidation& validation) {
  const std::vector<const CheckPart*> changed = validation.state.TakeChanged();
  if (changed.empty() && validation.results.empty()) return absl::OkStatus();
  const absl::Status status = with_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const CheckPart* part : changed) {
      RETURN_IF_ERROR(txn.validation_checks().Put(ToRecord(validation, *part)));
    }
    for (const CheckResultRecord& result : validation.results) {
      RETURN_IF_ERROR(txn.validation_checks().PutResult(result));
    }
    return absl::OkStatus();
  });
  if (status.ok()) {
    validation.results.clear();
  } else {
    validation.state.MarkChanged(changed);
  }
  return status;
}

void ValidationEngine::Carry(ActiveValidation& validation, const ValidationAction& action) {
  if (action.kind == ValidationAction::kFinish) {
    validation.finish_pending = true;
    return;
  }
  const CheckPart* part = validation.state.Find(action.check_id);
  if (part == nullptr) return;
  switch (action.kind) {
    case ValidationAction::kStartCheck:
      return StartCheck(validation, *part);
    case ValidationAction::kConnectPeers:
      return ConnectPeers(validation, *part);
    case ValidationAction::kVerdict:
      return PublishVerdict(validation, *part);
    case ValidationAction::kStopCheck:
      return StopCheck(validation.NodeOf(*part).uuid, action.check_id, action.reason);
    case ValidationAction::kFinish:
      return;
  }
}

void ValidationEngine::StartCheck(ActiveValidation& validation, const CheckPart& part) {
  const SuiteCheck& check = validation.state.CheckOf(part);
  const absl::Time now = with_.clock.Now();
  v1::ControllerMessage message;
  v1::StartCheck& start = *message.mutable_start_check();
  start.set_check_id(part.check_id);
  start.set_check(std::string(check.spec->name));
  for (const auto& [name, value] :
       WithExpectedParameters(check.spec->name, check.parameters,
                              validation.prepared.expectations.at(part.node).hardware,
                              validation.prepared.found.at(part.node))) {
    (*start.mutable_parameters())[name] = value;
  }
  LimitTemperature(*check.spec, validation.ExpectationOf(part), *start.mutable_parameters());
  *start.mutable_time_limit() = ToProtoDuration(check.time_limit);
  *start.mutable_expires_at() = ToTimestamp(now + kStartWithin);
  start.set_force(validation.request.force() && !validation.NodeOf(part).is_witness);
  if (part.members->size() > 1) {
    start.set_rank(part.rank);
    start.set_ranks(static_cast<uint32_t>(part.members->size()));
    // The same for all ranks, even when one of them starts after a restart of the controller.
    start.set_pair_key(
        Sha256Hex(absl::StrCat(validation.record.pair_seed, " ", part.execution_id)));
  }
  if (with_.sessions.Send(validation.NodeOf(part).uuid, message).ok()) return;
  Append(validation.state.OnSendFailed(part.check_id, now), validation.pending);
}

void ValidationEngine::StopCheck(const std::string& uuid, const std::string& check_id,
                                 const std::string& reason) {
  v1::ControllerMessage message;
  message.mutable_stop_check()->set_check_id(check_id);
  message.mutable_stop_check()->set_reason(reason);
  if (with_.sessions.Send(uuid, message).ok()) return;
  // A disconnected agent reports its running checks when it is back.
  if (with_.sessions.IsConnected(uuid)) unsent_stops_[{uuid, check_id}] = reason;
}

void ValidationEngine::ConnectPeers(ActiveValidation& validation, const CheckPart& part) {
  v1::ControllerMessage message;
  v1::ConnectPeers& connect = *message.mutable_connect_peers();
  connect.set_check_id(part.check_id);
  const std::vector<PeerEndpoint> peers = validation.state.PeersOf(part);
  for (size_t rank = 0; rank < peers.size(); ++rank) {
    v1::Endpoint& peer = *connect.add_peers();
    peer.set_port(peers[rank].port);
    peer.set_address(peers[rank].address);
    if (!peers[rank].address.empty() || rank >= part.members->size()) continue;
    const Node* node = validation.prepared.inventory->FindNode((*part.members)[rank]);
    if (node != nullptr) peer.set_address(node->address);
  }
  if (with_.sessions.Send(validation.NodeOf(part).uuid, message).ok()) return;
  Append(validation.state.OnSendFailed(part.check_id, with_.clock.Now()), validation.pending);
}

void ValidationEngine::PublishVerdict(ActiveValidation& validation, const CheckPart& part) {
  if (part.put_back) return;
  v1::CheckVerdict verdict = VerdictOf(validation, part);
  validation.verdicts.try_emplace(part.check_id, verdict);
  v1::ValidationEvent event;
  *event.mutable_time() = ToTimestamp(with_.clock.Now());
  event.set_node(part.node);
  *event.mutable_verdict() = std::move(verdict);
  validation.events->Append(std::move(event));
}

}  // namespace muster::controller::validation
