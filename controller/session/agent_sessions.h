// The connected agents, as the rest of the controller sees them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::v1 {
class CheckReport;
class CheckUpdate;
class CommandResult;
class ControllerMessage;
class FactsReport;
class HealthReport;
class Hello;
class NodeReadings;
class PlanReceipt;
class RebootRequest;
class Reports;
class SlurmAnswer;
class StepProgress;
}  // namespace muster::v1

namespace muster::controller {

// Receives everything that agents send; a listener overrides what concerns it. Called from gRPC's
// threads, in order for one node, possibly at once for several; must not block for long.
class AgentSessionListener {
 public:
  virtual ~AgentSessionListener() = default;
  virtual void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {}
  // The stream broke, or nothing came for 13 seconds.
  virtual void OnDisconnected(absl::string_view node_uuid) {}
  // The facts follow the rules of common/wire.
  virtual void OnFacts(absl::string_view node_uuid, const v1::FactsReport& report) {}
  // The facts for that request broke a rule, which `why` names with the field; nobody sees them.
  virtual void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                              const absl::Status& why) {}
  virtual void OnPlanReceipt(absl::string_view node_uuid, const v1::PlanReceipt& receipt) {}
  // In the order of their sequences. A listener that needs them after the call keeps the pointer.
  virtual void OnReports(absl::string_view node_uuid,
                         const std::shared_ptr<const v1::Reports>& reports) {}
  virtual void OnProgress(absl::string_view node_uuid, const v1::StepProgress& progress) {}
  virtual void OnRebootRequest(absl::string_view node_uuid, const v1::RebootRequest& request) {}
  virtual void OnCheckUpdate(absl::string_view node_uuid, const v1::CheckUpdate& update) {}
  virtual void OnCheckReport(absl::string_view node_uuid, const v1::CheckReport& report) {}
  // The answer to a SlurmRequest that was sent to the node in this session.
  virtual void OnSlurmAnswer(absl::string_view node_uuid, const v1::SlurmAnswer& answer) {}
  // The answer to a StartCommand that was sent to the node in this session.
  virtual void OnCommandResult(absl::string_view node_uuid, const v1::CommandResult& result) {}
  // The node's conditions, all of them; they follow the rules of common/wire.
  virtual void OnHealth(absl::string_view node_uuid, const v1::HealthReport& report) {}
  // What the node measures, for those who watch; follows the rules of common/wire.
  virtual void OnReadings(absl::string_view node_uuid, const v1::NodeReadings& readings) {}
  // The node broke the protocol or sent more than its share, and is cut off.
  virtual void OnMisbehaved(absl::string_view node_uuid, absl::string_view why) {}
};

struct AgentSessionInfo {
  std::string node_uuid;
  std::string peer;
  std::string agent_version;
  absl::Time connected_at;
  absl::Time last_seen_at;
};

// Thread-safe.
class AgentSessions {
 public:
  virtual ~AgentSessions() = default;
  // Queues the message for the node's stream; never blocks. Unavailable: not connected.
  // ResourceExhausted: the node does not read, its bounded queue is full.
  virtual absl::Status Send(absl::string_view node_uuid, const v1::ControllerMessage& message) = 0;
  // The same for a plan: `message` is the serialized ControllerMessage that holds it. The queue
  // shares the bytes: a plan takes up to 3 MiB, and thousands of nodes get theirs at once.
  virtual absl::Status SendPlan(absl::string_view node_uuid,
                                std::shared_ptr<const std::string> message) = 0;
  virtual bool IsConnected(absl::string_view node_uuid) const = 0;
  virtual std::vector<AgentSessionInfo> List() const = 0;
  // Ends the node's streams with `why`. With PermissionDenied the node considers itself rejected;
  // with ResourceExhausted it is reported as misbehaving; with another code it comes back. Does
  // nothing without a session.
  virtual void Disconnect(absl::string_view node_uuid, const absl::Status& why) = 0;
};

}  // namespace muster::controller
