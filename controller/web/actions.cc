#include "controller/web/actions.h"

#include <algorithm>
#include <iterator>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "controller/audit/audit.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/service/health_service.h"
#include "controller/service/node_service.h"
#include "controller/service/rollout_service.h"
#include "controller/web/collaborators.h"
#include "controller/web/json_text.h"

namespace muster::controller {
namespace {

using JsonText = absl::StatusOr<std::string>;
using Fields = nlohmann::json;

// "" where the field is not there; what has to be there is the call's rule.
std::string Text(const Fields& fields, const char* name) {
  const auto field = fields.find(name);
  return field == fields.end() || !field->is_string() ? "" : field->get<std::string>();
}

JsonText Drain(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  v1::DrainNodesRequest request;
  request.set_nodes(Text(fields, "nodes"));
  request.set_reason(Text(fields, "reason"));
  v1::DrainNodesResponse response;
  RETURN_IF_ERROR(with.nodes.Drain(actor, request, response));
  return ToJsonText(ProtoToValue(response));
}

JsonText Resume(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  v1::ResumeNodesRequest request;
  request.set_nodes(Text(fields, "nodes"));
  request.set_reason(Text(fields, "reason"));
  v1::ResumeNodesResponse response;
  RETURN_IF_ERROR(with.nodes.Resume(actor, request, response));
  return ToJsonText(ProtoToValue(response));
}

JsonText Change(const WebCollaborators& with, const Actor& actor, const Fields& fields,
                rollout::RolloutEvent event) {
  v1::ChangeRolloutRequest request;
  request.set_rollout_id(Text(fields, "id"));
  request.set_reason(Text(fields, "reason"));
  v1::ChangeRolloutResponse response;
  RETURN_IF_ERROR(with.rollouts.Change(actor, request, event, response));
  return ToJsonText(ProtoToValue(response));
}

JsonText PauseRollout(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  return Change(with, actor, fields, rollout::RolloutEvent::kPaused);
}

JsonText ResumeRollout(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  return Change(with, actor, fields, rollout::RolloutEvent::kResumed);
}

JsonText Silence(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  v1::CreateSilenceRequest request;
  request.set_nodes(Text(fields, "nodes"));
  request.set_condition(Text(fields, "condition"));
  request.set_reason(Text(fields, "reason"));
  const auto seconds = fields.find("seconds");
  if (seconds == fields.end() || !seconds->is_number_unsigned() || *seconds > UINT32_MAX)
    return absl::InvalidArgumentError("seconds: a whole number is required");
  *request.mutable_length() = ToProtoDuration(absl::Seconds(seconds->get<uint32_t>()));
  v1::CreateSilenceResponse response;
  RETURN_IF_ERROR(with.health.Create(actor, request, response));
  return ToJsonText(ProtoToValue(response));
}

JsonText EndSilence(const WebCollaborators& with, const Actor& actor, const Fields& fields) {
  v1::DeleteSilenceRequest request;
  request.set_silence_id(Text(fields, "id"));
  v1::DeleteSilenceResponse response;
  RETURN_IF_ERROR(with.health.Delete(actor, request, response));
  return ToJsonText(ProtoToValue(response));
}

constexpr Action kActions[] = {
    {"/api/node/drain", "/muster.v1.NodeService/DrainNodes", Drain},
    {"/api/node/resume", "/muster.v1.NodeService/ResumeNodes", Resume},
    {"/api/rollout/pause", "/muster.v1.RolloutService/PauseRollout", PauseRollout},
    {"/api/rollout/resume", "/muster.v1.RolloutService/ResumeRollout", ResumeRollout},
    {"/api/silence", "/muster.v1.HealthService/CreateSilence", Silence},
    {"/api/silence/end", "/muster.v1.HealthService/DeleteSilence", EndSilence},
};

}  // namespace

const Action* FindAction(absl::string_view path) {
  const auto row = std::find_if(std::begin(kActions), std::end(kActions),
                                [&](const Action& each) { return each.path == path; });
  return row == std::end(kActions) ? nullptr : row;
}

absl::StatusOr<Fields> ReadFields(absl::string_view body) {
  Fields fields = Fields::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  const bool is_flat =
      fields.is_object() && std::all_of(fields.begin(), fields.end(), [](const Fields& value) {
        return value.is_string() || value.is_number_unsigned();
      });
  if (!is_flat)
    return absl::InvalidArgumentError("the body has to be an object of texts and numbers");
  return fields;
}

}  // namespace muster::controller
