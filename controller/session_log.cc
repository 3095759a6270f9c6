#include "controller/session_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

SessionLog::SessionLog(std::function<std::string(absl::string_view uuid)> name_of, Log info,
                       Log warning)
    : name_of_(std::move(name_of)), info_(std::move(info)), warning_(std::move(warning)) {}

std::string SessionLog::Describe(absl::string_view node_uuid) const {
  const std::string name = name_of_(node_uuid);
  return name.empty() ? absl::StrCat("node ", node_uuid)
                      : absl::StrCat("node ", name, " (", node_uuid, ")");
}

void SessionLog::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  info_(absl::StrCat(Describe(node_uuid), " connected, agent ", hello.agent_version()));
}

void SessionLog::OnDisconnected(absl::string_view node_uuid) {
  warning_(absl::StrCat(Describe(node_uuid), " is gone"));
}

void SessionLog::OnFactsRefused(absl::string_view node_uuid, absl::string_view,
                                const absl::Status& why) {
  warning_(absl::StrCat(Describe(node_uuid), ": ", why.message()));
}

void SessionLog::OnMisbehaved(absl::string_view node_uuid, absl::string_view why) {
  warning_(absl::StrCat(Describe(node_uuid), " is cut off: ", why));
}

std::string NameOf(Store& store, absl::string_view node_uuid) {
  std::string name;
  store
      .View([&](Transaction& txn) -> absl::Status {
        ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(node_uuid));
        name = node.name;
        return absl::OkStatus();
      })
      .IgnoreError();
  return name;
}

}  // namespace muster::controller
