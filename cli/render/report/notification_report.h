// Channels of notifications as text for people. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class ListNotificationChannelsResponse;
class TestNotificationChannelResponse;
}  // namespace muster::v1

namespace muster::cli {

// A row for each channel; below, the errors of those whose last attempt failed.
std::string RenderChannels(const v1::ListNotificationChannelsResponse& response, absl::Time now);

// "chat: delivered: 200 ok", or why it was not.
std::string RenderChannelTest(const std::string& channel,
                              const v1::TestNotificationChannelResponse& response);

}  // namespace muster::cli
