#include "controller/service/web_service.h"

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/login/web_sessions.h"
#include "controller/session/caller.h"
#include "controller/store/store.h"

namespace muster::controller {

grpc::Status WebService::CreateLogin(grpc::ServerContext* context, const v1::CreateLoginRequest*,
                                     v1::CreateLoginResponse* response) {
  return ToGrpc(CreateLogin(*context, *response));
}

absl::Status WebService::CreateLogin(const grpc::ServerContext& context,
                                     v1::CreateLoginResponse& response) {
  if (place_.url.empty()) {
    return absl::FailedPreconditionError(
        "this controller has no web page: web_listen in controller.yaml is \"off\"");
  }
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return Audit(txn, clock_.Now(), caller.ToActor(), "web.link", caller.identity.name);
  }));
  const WebSessions::Ticket link = sessions_.MakeLink(caller.identity);
  response.set_url(absl::StrCat(place_.url, "/#/login/", link.secret));
  *response.mutable_expires_at() = ToTimestamp(link.ends_at);
  response.set_is_local(place_.is_local);
  return absl::OkStatus();
}

}  // namespace muster::controller
