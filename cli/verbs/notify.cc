// muster notify: the channels by which people outside are told.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/report/notification_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/notification.grpc.pb.h"

namespace muster::cli {
namespace {

using NotificationStub = v1::NotificationService::Stub;

// Longer than the controller waits for a receiver.
constexpr absl::Duration kTestTimeout = absl::Seconds(40);

absl::Status ReadChannels(Connection& connection, v1::ListNotificationChannelsResponse& response) {
  NotificationStub stub(connection.channel());
  return Call(connection, stub, &NotificationStub::ListNotificationChannels,
              v1::ListNotificationChannelsRequest(), &response);
}

absl::StatusOr<int> ListChannels(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::ListNotificationChannelsResponse response;
  RETURN_IF_ERROR(ReadChannels(*connection, response));
  Show(context, response, [&] { return RenderChannels(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> TestChannels(Context& context, const std::string& only) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  std::vector<std::string> channels = {only};
  if (only.empty()) {
    v1::ListNotificationChannelsResponse known;
    RETURN_IF_ERROR(ReadChannels(*connection, known));
    if (known.channels().empty())
      return absl::FailedPreconditionError(
          "the inventory has no channels; add 'notifications' (muster help notifications)");
    channels.clear();
    for (const v1::NotificationChannel& channel : known.channels())
      channels.push_back(channel.name());
  }
  NotificationStub stub(connection->channel());
  int exit_code = kExitClean;
  nlohmann::ordered_json tests = nlohmann::ordered_json::array();
  for (const std::string& channel : channels) {
    v1::TestNotificationChannelRequest request;
    request.set_channel(channel);
    v1::TestNotificationChannelResponse response;
    RETURN_IF_ERROR(Call(*connection, stub, &NotificationStub::TestNotificationChannel, request,
                         &response, kTestTimeout));
    if (!response.delivered()) exit_code = kExitFailed;
    if (context.output == OutputFormat::kTable) {
      std::cout << Tame(RenderChannelTest(channel, response))
                << std::flush;  // each may take its time
    } else {
      nlohmann::ordered_json test = {{"channel", channel}};
      test.update(ProtoToValue(response));
      tests.push_back(std::move(test));
    }
  }
  if (context.output != OutputFormat::kTable)
    std::cout << Format({{"tests", std::move(tests)}}, context.output);
  return exit_code;
}

}  // namespace

void AddNotify(CLI::App& app, Context& context) {
  CLI::App* notify = app.add_subcommand("notify", "Notifications: list and test the channels");
  notify->require_subcommand(1);

  CLI::App* list = notify->add_subcommand("list", "Channels, what waits, the last errors");
  SetAction(list, context, [&context] { return ListChannels(context); });

  CLI::App* test = notify->add_subcommand("test", "Send a test message, and show the answer");
  auto channel = std::make_shared<std::string>();
  test->add_option("channel", *channel, "Its name (default: all channels)")->type_name("CHANNEL");
  SetAction(test, context, [&context, channel] { return TestChannels(context, *channel); });
}

}  // namespace muster::cli
