#include "cli/render/report/notification_report.h"

#include <gmock/gmock.h>

#include "common/base/proto_time.h"
#include "muster/v1/notification.pb.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::cli {
namespace {

using ::muster::testing::Said;
using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kChannelsShownAt = absl::FromUnixSeconds(1'900'000'000);

TEST(NotificationReport, WithoutChannelsSaysWhatToDo) {
  EXPECT_THAT(RenderChannels({}, kChannelsShownAt), Said());
}

TEST(NotificationReport, ShowsChannelsAndTheirErrors) {
  v1::ListNotificationChannelsResponse response;
  v1::NotificationChannel& chat = *response.add_channels();
  chat.set_name("chat");
  chat.set_type("webhook");
  chat.set_target("https://chat.example.org/hooks");
  chat.set_severity("warning");
  chat.set_delivered(12);
  *chat.mutable_delivered_at() = ToTimestamp(kChannelsShownAt - absl::Minutes(5));
  v1::NotificationChannel& ops = *response.add_channels();
  ops.set_name("ops");
  ops.set_type("email");
  ops.set_target("ops@example.org");
  ops.add_kinds("rollout");
  ops.add_kinds("run.failed");
  ops.set_severity("info");
  ops.set_pending(2);
  ops.set_failed(1);
  ops.set_error("smtp://mail: refused\x1b[31m");
  *ops.mutable_failed_at() = ToTimestamp(kChannelsShownAt - absl::Seconds(20));
  response.set_dropped(1);
  const std::string text = RenderChannels(response, kChannelsShownAt);
  EXPECT_THAT(text, Said());
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(NotificationReport, ShowsTheAnswerToATest) {
  v1::TestNotificationChannelResponse response;
  response.set_delivered(true);
  response.set_answer("200 ok");
  EXPECT_THAT(RenderChannelTest("chat", response), Said());
  response.Clear();
  response.set_error("https://x: the receiver answered 401 no; check token_secret");
  EXPECT_THAT(RenderChannelTest("chat", response), Said());
}

}  // namespace
}  // namespace muster::cli
