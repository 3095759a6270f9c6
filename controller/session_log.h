// Comings and goings of agents, in the log.
#pragma once

#include "absl/strings/string_view.h"
#include "controller/session/agent_sessions.h"

namespace muster::controller {

// Logs who connects and who is gone; says nothing of the rest.
class SessionLog final : public AgentSessionListener {
 public:
  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view, const v1::FactsReport&) override {}
  void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                      const absl::Status& why) override;
  void OnPlanReceipt(absl::string_view, const v1::PlanReceipt&) override {}
  void OnReport(absl::string_view, const v1::Report&) override {}
  void OnProgress(absl::string_view, const v1::StepProgress&) override {}
  void OnRebootRequest(absl::string_view, const v1::RebootRequest&) override {}
  void OnMisbehaved(absl::string_view node_uuid, absl::string_view why) override;
};

}  // namespace muster::controller
