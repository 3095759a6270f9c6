#include "controller/service/notification_service.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "controller/audit/audit.h"
#include "controller/notify/notifications.h"
#include "controller/session/caller.h"

namespace muster::controller {
namespace {

std::string TargetOf(const NotificationChannel& channel) {
  if (!channel.to.empty()) return absl::StrJoin(channel.to, ", ");
  if (!channel.url_secret.empty()) return absl::StrCat("secret ", channel.url_secret);
  return channel.url.substr(0, channel.url.find_first_of("?#"));
}

v1::NotificationChannel ToProto(const notify::ChannelState& state) {
  const NotificationChannel& channel = *state.config;
  v1::NotificationChannel out;
  out.set_name(channel.name);
  out.set_type(std::string(ChannelTypeName(channel.type)));
  out.set_target(TargetOf(channel));
  for (const std::string& kind : channel.kinds) out.add_kinds(kind);
  out.set_severity(std::string(notify::SeverityName(channel.severity)));
  out.set_pending(state.summary.pending);
  if (state.summary.delivered_at.has_value())
    *out.mutable_delivered_at() = ToTimestamp(*state.summary.delivered_at);
  if (state.summary.failed_at.has_value())
    *out.mutable_failed_at() = ToTimestamp(*state.summary.failed_at);
  out.set_error(state.summary.error);
  out.set_delivered(state.delivered);
  out.set_failed(state.failed);
  return out;
}

}  // namespace

grpc::Status NotificationService::ListNotificationChannels(
    grpc::ServerContext*, const v1::ListNotificationChannelsRequest*,
    v1::ListNotificationChannelsResponse* response) {
  return ToGrpc(List(*response));
}

absl::Status NotificationService::List(v1::ListNotificationChannelsResponse& response) {
  ASSIGN_OR_RETURN(const std::vector<notify::ChannelState> channels, notifications_.Channels());
  for (const notify::ChannelState& state : channels) *response.add_channels() = ToProto(state);
  response.set_dropped(notifications_.dropped());
  return absl::OkStatus();
}

grpc::Status NotificationService::TestNotificationChannel(
    grpc::ServerContext* context, const v1::TestNotificationChannelRequest* request,
    v1::TestNotificationChannelResponse* response) {
  const absl::StatusOr<Caller> caller = CallerOf(*context);
  if (!caller.ok()) return ToGrpc(caller.status());
  const absl::StatusOr<notify::Reply> reply =
      notifications_.Test(request->channel(), caller->ToActor());
  if (!reply.ok()) return ToGrpc(reply.status());
  response->set_delivered(reply->status.ok());
  response->set_answer(reply->answer);
  response->set_error(std::string(reply->status.message()));
  return grpc::Status::OK;
}

}  // namespace muster::controller
