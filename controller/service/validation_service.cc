#include "controller/service/validation_service.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/service/front/refusal.h"
#include "controller/service/front/watch_reactor.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/follow_ups.h"
#include "controller/validation/engine/validation_feed.h"
#include "controller/validation/engine/validation_manager.h"
#include "controller/validation/engine/validation_records.h"
#include "controller/validation/verdict/result_blob.h"

namespace muster::controller {
namespace {

// The prefix of run ids.
constexpr absl::string_view kRunPrefix = "r-";

absl::Status Validate(const v1::CreateValidationRequest& request) {
  if (request.suite().empty()) {
    return absl::InvalidArgumentError("no suite specified; playbooks/suites contains them");
  }
  if (request.suite().find('/') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", request.suite(), "' is a path; specify a suite without folder and .yaml"));
  }
  if (request.nodes().empty()) {
    return absl::InvalidArgumentError("no nodes specified; e.g. c[001-016], a group, or all");
  }
  if (request.bundle_sha256().empty()) {
    return absl::InvalidArgumentError("no bundle specified; upload the site first");
  }
  return absl::OkStatus();
}

absl::Status ValidateId(const std::string& validation_id) {
  if (!validation_id.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("no validation specified; see `muster validate list`");
}

}  // namespace

grpc::Status ValidationService::CreateValidation(grpc::ServerContext* context,
                                                 const v1::CreateValidationRequest* request,
                                                 v1::CreateValidationResponse* response) {
  return Answer(Create(*context, *request, *response), response);
}

grpc::Status ValidationService::GetValidation(grpc::ServerContext*,
                                              const v1::GetValidationRequest* request,
                                              v1::GetValidationResponse* response) {
  if (const absl::Status valid = ValidateId(request->validation_id()); !valid.ok())
    return ToGrpc(valid);
  absl::StatusOr<v1::Validation> validation = validations_.Get(request->validation_id());
  if (validation.ok()) *response->mutable_validation() = *std::move(validation);
  return ToGrpc(validation.status());
}

grpc::Status ValidationService::ListValidations(grpc::ServerContext*,
                                                const v1::ListValidationsRequest* request,
                                                v1::ListValidationsResponse* response) {
  return ToGrpc(List(*request, *response));
}

grpc::Status ValidationService::CancelValidation(grpc::ServerContext* context,
                                                 const v1::CancelValidationRequest* request,
                                                 v1::CancelValidationResponse*) {
  return ToGrpc(Cancel(*context, *request));
}

grpc::Status ValidationService::ListCheckResults(grpc::ServerContext* context,
                                                 const v1::ListCheckResultsRequest* request,
                                                 grpc::ServerWriter<v1::NodeCheckResult>* writer) {
  const absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const OpenCalls::Entry open_call = calls_.Add(caller->identity, context);
  return ToGrpc(EachResult(
      *request, [&](const v1::NodeCheckResult& result) { return writer->Write(result); }));
}

grpc::ServerWriteReactor<v1::ValidationEvent>* ValidationService::WatchValidation(
    grpc::CallbackServerContext* context, const v1::WatchValidationRequest* request) {
  auto* reactor = new WatchReactor<v1::ValidationEvent>(
      calls_, context, "the controller is stopping, or this watcher did not keep up");
  absl::StatusOr<std::shared_ptr<validation::ValidationWatch>> watch =
      validations_.Watch(request->validation_id(), [reactor] { reactor->OnReady(); });
  if (watch.ok()) {
    reactor->Start(*std::move(watch));
  } else {
    reactor->Fail(watch.status());
  }
  return reactor;
}

absl::Status ValidationService::Create(const grpc::ServerContext& context,
                                       const v1::CreateValidationRequest& request,
                                       v1::CreateValidationResponse& response) {
  RETURN_IF_ERROR(Validate(request));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const std::string actor = caller.identity.Actor();
  RETURN_IF_ERROR(approvals_.MayValidate(actor, request.bundle_sha256()));
  ASSIGN_OR_RETURN(*response.mutable_validation(),
                   validations_.Create(request, {actor, caller.peer}));
  const std::optional<BundleApprovalRecord> approval = approvals_.ByRunning(
      actor, request.bundle_sha256(), absl::StrCat(kSuiteFolder, request.suite(), ".yaml"),
      response.validation().validation_id());
  if (!approval.has_value()) return absl::OkStatus();
  return store_.Update([&](Transaction& txn) { return BundleApprovals::Keep(txn, *approval); });
}

absl::Status ValidationService::List(const v1::ListValidationsRequest& request,
                                     v1::ListValidationsResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), kMaxLimit);
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto records, txn.validations().List(limit, request.node()));
    for (const ValidationRecord& record : records) {
      ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes(record.validation_id));
      *response.add_validations() = validation::ToProto(record, nodes, /*with_checks=*/false);
    }
    return absl::OkStatus();
  });
}

absl::Status ValidationService::Cancel(const grpc::ServerContext& context,
                                       const v1::CancelValidationRequest& request) {
  RETURN_IF_ERROR(ValidateId(request.validation_id()));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const Actor actor = caller.ToActor();
  const std::string& id = request.validation_id();
  // A waiting suite has no validation id yet.
  return absl::StartsWith(id, kRunPrefix) ? run_validations_.Cancel(id, actor)
                                          : validations_.Cancel(id, actor);
}

absl::Status ValidationService::EachResult(
    const v1::ListCheckResultsRequest& request,
    absl::FunctionRef<bool(const v1::NodeCheckResult&)> take) {
  RETURN_IF_ERROR(ValidateId(request.validation_id()));
  std::vector<ValidationCheckRecord> checks;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Get(request.validation_id()).status());
    ASSIGN_OR_RETURN(checks, txn.validation_checks().List(request.validation_id()));
    return absl::OkStatus();
  }));
  for (const ValidationCheckRecord& check : checks) {
    if (!request.node().empty() && check.node != request.node()) continue;
    // One result at a time: with its curves it may take a megabyte.
    absl::StatusOr<CheckResultRecord> record;
    const absl::Status read = store_.View([&](Transaction& txn) {
      record = txn.validation_checks().GetResult(check.check_id);
      return absl::OkStatus();
    });
    RETURN_IF_ERROR(read);
    if (absl::IsNotFound(record.status())) continue;
    RETURN_IF_ERROR(record.status());
    v1::NodeCheckResult result;
    result.set_node(check.node);
    for (const absl::string_view member : absl::StrSplit(check.members, ' ', absl::SkipEmpty())) {
      if (member != check.node) result.set_partner(std::string(member));
    }
    absl::StatusOr<v1::CheckResult> unpacked = validation::UnpackResult(record->result);
    if (unpacked.ok()) {
      *result.mutable_result() = *std::move(unpacked);
    } else {
      // Does not affect the others.
      result.mutable_result()->set_check(check.name);
    }
    result.set_stage(check.stage_name);
    if (!request.with_samples()) result.mutable_result()->clear_samples();
    if (!take(result)) return absl::CancelledError("the reader left");
  }
  return absl::OkStatus();
}

}  // namespace muster::controller
