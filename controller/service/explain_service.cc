#include "controller/service/explain_service.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/json_text.h"
#include "controller/playbook/secret_readers.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/run/run_records.h"
#include "controller/secret/secret_store.h"
#include "controller/service/front/refusal.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// How many runs back the last result of a step is searched for.
constexpr uint32_t kRunsLookedAt = 50;

using ExtraVars = std::map<std::string, nlohmann::ordered_json>;

absl::StatusOr<ExtraVars> ReadExtraVars(
    const google::protobuf::Map<std::string, std::string>& given) {
  ExtraVars vars;
  for (const auto& [name, text] : given) {
    ASSIGN_OR_RETURN(vars[name], ParseExtraVar(name, text));
  }
  return vars;
}

absl::Status Require(const std::string& value, absl::string_view what) {
  if (!value.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("no ", what, " named"));
}

}  // namespace

grpc::Status ExplainService::ExplainVariable(grpc::ServerContext*,
                                             const v1::ExplainVariableRequest* request,
                                             v1::ExplainVariableResponse* response) {
  return Answer(ExplainVariable(*request, *response), response);
}

grpc::Status ExplainService::ExplainStep(grpc::ServerContext*,
                                         const v1::ExplainStepRequest* request,
                                         v1::ExplainStepResponse* response) {
  return Answer(ExplainStep(*request, *response), response);
}

absl::StatusOr<InventoryVersion> ExplainService::Prepare(
    FactsByNode& facts, std::map<std::string, std::string>& secrets) {
  ASSIGN_OR_RETURN(const std::vector<SecretInfo> infos, secrets_.List());
  for (const SecretInfo& info : infos)
    secrets[info.name] = secrets_.readers() == SecretReaders::kAny ? kAnyRole : info.roles;
  ASSIGN_OR_RETURN(facts, ReadAllFacts(store_));
  return inventory_.Latest();
}

absl::StatusOr<std::shared_ptr<const Playbook>> ExplainService::Load(const std::string& sha256,
                                                                     const std::string& path) {
  ASSIGN_OR_RETURN(const FileTree site, load_bundle_(sha256));
  return LoadPlaybook(site, path);
}

absl::Status ExplainService::ExplainVariable(const v1::ExplainVariableRequest& request,
                                             v1::ExplainVariableResponse& response) {
  RETURN_IF_ERROR(Require(request.name(), "variable"));
  RETURN_IF_ERROR(Require(request.node(), "node"));
  if (request.playbook().empty() && !request.role().empty()) {
    return absl::InvalidArgumentError(
        "a role's defaults are found through a playbook; specify a playbook too");
  }
  FactsByNode facts;
  std::map<std::string, std::string> secrets;
  ASSIGN_OR_RETURN(const InventoryVersion version, Prepare(facts, secrets));
  std::shared_ptr<const Playbook> playbook;
  if (!request.playbook().empty()) {
    ASSIGN_OR_RETURN(playbook, Load(request.bundle_sha256(), request.playbook()));
  }
  ASSIGN_OR_RETURN(ExtraVars extra_vars, ReadExtraVars(request.extra_vars()));
  ASSIGN_OR_RETURN(response,
                   controller::ExplainVariable({*version.inventory, facts, request.node(),
                                                std::move(extra_vars), secrets, offer_()},
                                               playbook.get(), request.role(), request.name()));
  response.set_inventory_revision(version.revision);
  return absl::OkStatus();
}

absl::Status ExplainService::ExplainStep(const v1::ExplainStepRequest& request,
                                         v1::ExplainStepResponse& response) {
  RETURN_IF_ERROR(Require(request.step(), "step"));
  RETURN_IF_ERROR(Require(request.node(), "node"));
  RETURN_IF_ERROR(Require(request.playbook(), "playbook"));
  FactsByNode facts;
  std::map<std::string, std::string> secrets;
  ASSIGN_OR_RETURN(const InventoryVersion version, Prepare(facts, secrets));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Playbook> playbook,
                   Load(request.bundle_sha256(), request.playbook()));
  ASSIGN_OR_RETURN(ExtraVars extra_vars, ReadExtraVars(request.extra_vars()));
  ASSIGN_OR_RETURN(response, controller::ExplainStep({*version.inventory, facts, request.node(),
                                                      std::move(extra_vars), secrets, offer_()},
                                                     *playbook, request.step()));
  response.set_inventory_revision(version.revision);
  return AddLastResults(request.node(), response);
}

absl::Status ExplainService::AddLastResults(const std::string& node,
                                            v1::ExplainStepResponse& response) {
  return store_.View([&](Transaction& txn) -> absl::Status {
    if (const absl::StatusOr<NodeRecord> record = txn.nodes().GetByName(node); record.ok()) {
      ASSIGN_OR_RETURN(const std::string text, txn.nodes().Facts(record->uuid));
      v1::Facts facts;
      if (facts.ParseFromString(text) && facts.has_gathered_at()) {
        *response.mutable_facts_at() = facts.gathered_at();
      }
    }
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().List(kRunsLookedAt));
    for (v1::ExplainedStep& step : *response.mutable_steps()) {
      for (const RunRecord& run : runs) {
        const absl::StatusOr<StepResultRecord> result =
            txn.step_results().Get(run.run_id, node, step.play_index(), step.step().step_id());
        if (absl::IsNotFound(result.status())) continue;
        RETURN_IF_ERROR(result.status());
        step.mutable_last_result()->ParseFromString(result->result);
        step.set_last_run_id(run.run_id);
        step.set_last_check_only(RequestOf(run).check_only());
        break;
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
