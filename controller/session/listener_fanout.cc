#include "controller/session/listener_fanout.h"

namespace muster::controller {

void ListenerFanout::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  for (AgentSessionListener* listener : listeners_) listener->OnConnected(node_uuid, hello);
}

void ListenerFanout::OnDisconnected(absl::string_view node_uuid) {
  for (AgentSessionListener* listener : listeners_) listener->OnDisconnected(node_uuid);
}

void ListenerFanout::OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) {
  for (AgentSessionListener* listener : listeners_) listener->OnFacts(node_uuid, report);
}

void ListenerFanout::OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                                    const absl::Status& why) {
  for (AgentSessionListener* listener : listeners_)
    listener->OnFactsRefused(node_uuid, request_id, why);
}

void ListenerFanout::OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) {
  for (AgentSessionListener* listener : listeners_) listener->OnPlanReceipt(node_uuid, receipt);
}

void ListenerFanout::OnReports(absl::string_view node_uuid,
                               const std::shared_ptr<const v1::Reports>& reports) {
  for (AgentSessionListener* listener : listeners_) listener->OnReports(node_uuid, reports);
}

void ListenerFanout::OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) {
  for (AgentSessionListener* listener : listeners_) listener->OnProgress(node_uuid, progress);
}

void ListenerFanout::OnRebootRequest(absl::string_view node_uuid,
                                     const v1::RebootRequest& request) {
  for (AgentSessionListener* listener : listeners_) listener->OnRebootRequest(node_uuid, request);
}

void ListenerFanout::OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) {
  for (AgentSessionListener* listener : listeners_) listener->OnCheckUpdate(node_uuid, update);
}

void ListenerFanout::OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) {
  for (AgentSessionListener* listener : listeners_) listener->OnCheckReport(node_uuid, report);
}

void ListenerFanout::OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) {
  for (AgentSessionListener* listener : listeners_) listener->OnSlurmAnswer(node_uuid, answer);
}

void ListenerFanout::OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) {
  for (AgentSessionListener* listener : listeners_) listener->OnCommandResult(node_uuid, result);
}

void ListenerFanout::OnHealth(absl::string_view node_uuid, const v1::HealthReport& report) {
  for (AgentSessionListener* listener : listeners_) listener->OnHealth(node_uuid, report);
}

void ListenerFanout::OnReadings(absl::string_view node_uuid, const v1::NodeReadings& readings) {
  for (AgentSessionListener* listener : listeners_) listener->OnReadings(node_uuid, readings);
}

void ListenerFanout::OnMisbehaved(absl::string_view node_uuid, absl::string_view why) {
  for (AgentSessionListener* listener : listeners_) listener->OnMisbehaved(node_uuid, why);
}

}  // namespace muster::controller
