#include "cli/render/report/notification_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "common/base/proto_time.h"
#include "common/base/text/counted.h"
#include "muster/v1/notification.pb.h"

namespace muster::cli {
namespace {

std::string KindsOf(const v1::NotificationChannel& channel) {
  const std::string kinds = channel.kinds().empty() ? "all" : absl::StrJoin(channel.kinds(), ", ");
  return channel.severity() == "info" ? kinds : absl::StrCat(kinds, " from ", channel.severity());
}

}  // namespace

std::string RenderChannels(const v1::ListNotificationChannelsResponse& response, absl::Time now) {
  if (response.channels().empty()) {
    return "no channels: nobody is notified; add 'notifications' to the inventory (muster help "
           "notifications)\n";
  }
  Table table({"CHANNEL", "TYPE", "TO", "TAKES", "WAITING", "DELIVERED", "LAST", "FAILED"});
  std::string errors;
  for (const v1::NotificationChannel& channel : response.channels()) {
    table.AddRow({channel.name(), channel.type(), Tame(channel.target()), KindsOf(channel),
                  absl::StrCat(channel.pending()), absl::StrCat(channel.delivered()),
                  channel.has_delivered_at() ? HumanTime(ToTime(channel.delivered_at()), now) : "-",
                  absl::StrCat(channel.failed())});
    if (channel.error().empty()) continue;
    absl::StrAppend(&errors, "\n", channel.name(), ", ",
                    HumanTime(ToTime(channel.failed_at()), now), ": ", Tame(channel.error()), "\n");
  }
  std::string text = table.ToString() + errors;
  if (response.dropped() > 0) {
    absl::StrAppend(&text, "\n", Counted(response.dropped(), "notification"),
                    " lost for want of room since musterd was started\n");
  }
  return text;
}

std::string RenderChannelTest(const std::string& channel,
                              const v1::TestNotificationChannelResponse& response) {
  if (response.delivered()) {
    return absl::StrCat(
        channel, ": delivered",
        response.answer().empty() ? "" : ", the receiver says: ", Tame(response.answer()), "\n");
  }
  return absl::StrCat(channel, ": NOT delivered: ", Tame(response.error()), "\n");
}

}  // namespace muster::cli
