// A receiver of messages: one for each entry of the inventory's `notifications:`.
#pragma once

#include <functional>
#include <memory>

#include "controller/inventory/notification_channel.h"
#include "controller/notify/message.h"
#include "controller/notify/reply.h"

namespace muster::controller {
class SecretSource;
}

namespace muster::controller::notify {

// Thread-safe.
class Channel {
 public:
  virtual ~Channel() = default;
  // Blocks for some twenty seconds at most, or until `cancelled`, which is asked once a second.
  virtual Reply Send(const Message& message, const std::function<bool()>& cancelled) = 0;
  // It folds by itself, and forgets what is not repeated: it gets each notification, and again
  // what lasts.
  virtual bool keeps_state() const { return false; }
};

using ChannelConfig = std::shared_ptr<const NotificationChannel>;

// Reads its secrets as the reader "notifications", anew for each message. `secrets` must outlive
// the channel.
std::unique_ptr<Channel> MakeChannel(ChannelConfig config, SecretSource& secrets);

}  // namespace muster::controller::notify
