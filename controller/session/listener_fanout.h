// Several listeners behind one.
#pragma once

#include <utility>
#include <vector>

#include "controller/session/agent_sessions.h"

namespace muster::controller {

// Hands every call to each listener in the order given. Thread-safe: the list never changes.
class ListenerFanout final : public AgentSessionListener {
 public:
  // The listeners must outlive the object.
  explicit ListenerFanout(std::vector<AgentSessionListener*> listeners)
      : listeners_(std::move(listeners)) {}

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) override;
  void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                      const absl::Status& why) override;
  void OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) override;
  void OnReport(absl::string_view node_uuid, const v1::Report& report) override;
  void OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) override;
  void OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) override;
  void OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) override;
  void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) override;
  void OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) override;
  void OnMisbehaved(absl::string_view node_uuid, absl::string_view why) override;

 private:
  const std::vector<AgentSessionListener*> listeners_;
};

}  // namespace muster::controller
