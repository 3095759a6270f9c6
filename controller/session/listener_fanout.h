// Several listeners behind one.
#pragma once

#include <memory>
#include <vector>

#include "controller/session/agent_sessions.h"

namespace muster::controller {

// Hands every call to each listener in the order in which they were attached.
class ListenerFanout final : public AgentSessionListener {
 public:
  // The listener must outlive the object. Call before there are sessions: the list does not change
  // any more then, which is why the rest is thread-safe.
  void Attach(AgentSessionListener& listener) { listeners_.push_back(&listener); }

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) override;
  void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                      const absl::Status& why) override;
  void OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) override;
  void OnReports(absl::string_view node_uuid,
                 const std::shared_ptr<const v1::Reports>& reports) override;
  void OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) override;
  void OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) override;
  void OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) override;
  void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) override;
  void OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) override;
  void OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) override;
  void OnHealth(absl::string_view node_uuid, const v1::HealthReport& report) override;
  void OnReadings(absl::string_view node_uuid, const v1::NodeReadings& readings) override;
  void OnMisbehaved(absl::string_view node_uuid, absl::string_view why) override;

 private:
  std::vector<AgentSessionListener*> listeners_;
};

}  // namespace muster::controller
