#include "controller/session_log.h"

#include "absl/strings/str_cat.h"
#include "controller/log.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

void SessionLog::OnConnected(absl::string_view node_uuid, const v1::Hello& hello) {
  LogInfo(absl::StrCat("node ", node_uuid, " connected, agent ", hello.agent_version()));
}

void SessionLog::OnDisconnected(absl::string_view node_uuid) {
  LogWarning(absl::StrCat("node ", node_uuid, " is gone"));
}

void SessionLog::OnFactsRefused(absl::string_view node_uuid, absl::string_view,
                                const absl::Status& why) {
  LogWarning(absl::StrCat("node ", node_uuid, ": ", why.message()));
}

void SessionLog::OnMisbehaved(absl::string_view node_uuid, absl::string_view why) {
  LogWarning(absl::StrCat("node ", node_uuid, " is cut off: ", why));
}

}  // namespace muster::controller
