// Logs agents as they come and go.
#pragma once

#include <functional>
#include <string>

#include "absl/strings/string_view.h"
#include "controller/log.h"
#include "controller/session/agent_sessions.h"

namespace muster::controller {

class Store;

// Logs which agents connect, disconnect and are cut off, and whose facts are refused.
class SessionLog final : public AgentSessionListener {
 public:
  using Log = std::function<void(absl::string_view line)>;

  // `name_of` gives a node's name in the inventory, "" where it is not known; it may block.
  explicit SessionLog(std::function<std::string(absl::string_view uuid)> name_of,
                      Log info = LogInfo, Log warning = LogWarning);

  void OnConnected(absl::string_view node_uuid, const v1::Hello& hello) override;
  void OnDisconnected(absl::string_view node_uuid) override;
  void OnFactsRefused(absl::string_view node_uuid, absl::string_view request_id,
                      const absl::Status& why) override;
  void OnMisbehaved(absl::string_view node_uuid, absl::string_view why) override;

 private:
  // "node c001 (3f6c…)"; includes the uuid because names change, and two machines may have had one
  // after the other.
  std::string Describe(absl::string_view node_uuid) const;

  const std::function<std::string(absl::string_view uuid)> name_of_;
  const Log info_, warning_;
};

// The name in the store; "": it has none.
std::string NameOf(Store& store, absl::string_view node_uuid);

}  // namespace muster::controller
