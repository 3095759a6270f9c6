// Channels of notifications, for people.
#pragma once

#include "absl/status/status.h"
#include "muster/v1/notification.grpc.pb.h"

namespace muster::controller {

namespace notify {
class Notifications;
}

// NotificationService. Thread-safe.
class NotificationService final : public v1::NotificationService::Service {
 public:
  // `notifications` must outlive the object.
  explicit NotificationService(notify::Notifications& notifications)
      : notifications_(notifications) {}

  grpc::Status ListNotificationChannels(grpc::ServerContext* context,
                                        const v1::ListNotificationChannelsRequest* request,
                                        v1::ListNotificationChannelsResponse* response) override;
  grpc::Status TestNotificationChannel(grpc::ServerContext* context,
                                       const v1::TestNotificationChannelRequest* request,
                                       v1::TestNotificationChannelResponse* response) override;

 private:
  absl::Status List(v1::ListNotificationChannelsResponse& response);

  notify::Notifications& notifications_;
};

}  // namespace muster::controller
