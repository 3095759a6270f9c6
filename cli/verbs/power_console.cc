// muster power console: what a machine has written to its serial console.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "cli/connection.h"
#include "cli/context.h"
#include "cli/render/report/console_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/power.grpc.pb.h"

namespace muster::cli {
namespace {

using PowerStub = v1::PowerService::Stub;

struct ConsoleAsk {
  std::string node;
  uint32_t lines = 40;
  bool follow = false;
};

absl::StatusOr<v1::ReadConsoleResponse> Read(Connection& connection,
                                             const v1::ReadConsoleRequest& request) {
  PowerStub stub(connection.channel());
  v1::ReadConsoleResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &PowerStub::ReadConsole, request, &response));
  return response;
}

// Prints what comes until Ctrl-C; what is not the machine's goes to stderr.
absl::StatusOr<int> Follow(Context& context, Connection& connection,
                           v1::ReadConsoleRequest request) {
  constexpr absl::Duration kPoll = absl::Milliseconds(500);
  Clock& clock = *context.clock;
  const InterruptFlag interrupt;
  const auto say = [](absl::string_view text) { std::cerr << "muster: " << text << "\n"; };
  Patience patience(
      clock, [&] { connection.Renew(); }, say);
  std::string told;
  while (!InterruptFlag::IsSet()) {
    const absl::StatusOr<v1::ReadConsoleResponse> response = Read(connection, request);
    if (!response.ok()) {
      RETURN_IF_ERROR(patience.Await(response.status()));
      continue;
    }
    patience.OnAnswer();
    const std::string state = StateOfConsole(request.node(), *response);
    if (state != told) say(told = state);
    request.set_rows(0);  // of what comes from now on, all
    if (!response->rows().empty()) {
      std::cout << (context.output == OutputFormat::kTable
                        ? RenderConsole(*response, absl::LocalTimeZone())
                        : JsonLine(*response))
                << std::flush;
      request.set_after(response->rows().rbegin()->number());
    }
    const absl::Time next = clock.Now() + kPoll;
    while (clock.Now() < next && !InterruptFlag::IsSet())
      clock.Sleep(std::min(InterruptFlag::kInterval, next - clock.Now()));
  }
  return kExitClean;
}

absl::StatusOr<int> Console(Context& context, const ConsoleAsk& ask) {
  v1::ReadConsoleRequest request;
  request.set_node(ask.node);
  request.set_rows(ask.lines);
  request.set_follow(ask.follow);
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  if (ask.follow) return Follow(context, *connection, std::move(request));
  ASSIGN_OR_RETURN(const v1::ReadConsoleResponse response, Read(*connection, request));
  Show(context, response, [&] { return RenderConsole(response, absl::LocalTimeZone()); });
  if (context.output == OutputFormat::kTable)
    std::cerr << "muster: " << StateOfConsole(ask.node, response) << "\n";
  return kExitClean;
}

}  // namespace

void AddPowerConsole(CLI::App& power, Context& context) {
  CLI::App* console =
      power.add_subcommand("console", "What a machine has written to its serial console");
  auto ask = std::make_shared<ConsoleAsk>();
  console->add_option("node", ask->node, "One node")->required()->type_name("NODE");
  console->add_option("-n,--lines", ask->lines, "The last so many (default: 40)")
      ->check(CLI::Range(1, 1000).description(""))
      ->type_name("N");
  console->add_flag("-f,--follow", ask->follow, "Have it read, and print what comes until Ctrl-C");
  console->footer(
      "Where the inventory has bmc_console: true, the controller reads consoles by IPMI while\n"
      "machines boot, and keeps the last lines until it is restarted.");
  SetAction(console, context, [&context, ask] { return Console(context, *ask); });
}

}  // namespace muster::cli
