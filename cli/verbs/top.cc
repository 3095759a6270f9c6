// muster top: the load, heat and power of nodes, as they are now.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/connection.h"
#include "cli/render/shorten.h"
#include "cli/render/show.h"
#include "cli/render/top/top_report.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/reading.grpc.pb.h"

namespace muster::cli {
namespace {

using ReadingStub = v1::ReadingService::Stub;

struct TopAsk {
  std::string nodes;
  std::string order = "name";
  bool by_rack = false;
  bool once = false;
};

absl::StatusOr<v1::GetReadingsResponse> ReadNow(Connection& connection, const std::string& nodes) {
  ReadingStub stub(connection.channel());
  v1::GetReadingsRequest request;
  request.set_nodes(nodes);
  v1::GetReadingsResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &ReadingStub::GetReadings, request, &response));
  return response;
}

// Rates need two readings.
bool IsWhole(const v1::GetReadingsResponse& response) {
  return std::all_of(response.nodes().begin(), response.nodes().end(),
                     [](const v1::WatchedNode& node) {
                       return !node.connected() || node.readings().has_cpu_busy_ratio();
                     });
}

// The readings as soon as all nodes that are connected have sent two, or have had time for them.
absl::StatusOr<v1::GetReadingsResponse> ReadOnce(Context& context, Connection& connection,
                                                 const std::string& nodes) {
  constexpr absl::Duration kPoll = absl::Milliseconds(250);
  constexpr absl::Duration kGrace = absl::Seconds(4);
  const absl::Time began = context.clock->Now();
  for (;;) {
    ASSIGN_OR_RETURN(v1::GetReadingsResponse response, ReadNow(connection, nodes));
    const absl::Time deadline = began + 2 * ToDuration(response.interval()) + kGrace;
    if (IsWhole(response) || context.clock->Now() >= deadline) return response;
    context.clock->Sleep(kPoll);
  }
}

// Lines may be this wide: the last column stays free.
size_t ColumnsOf(ScreenSize size) { return static_cast<size_t>(std::max(size.columns - 1, 20)); }

// The lines that fit on the screen, and how many did not.
std::vector<std::string> Fit(const std::string& text, ScreenSize size) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty()))
    lines.push_back(Shorten(line, ColumnsOf(size)));
  const auto rows = static_cast<size_t>(std::max(size.rows - 2, 4));
  if (lines.size() > rows) {
    const size_t left_out = lines.size() - rows + 1;
    lines.resize(rows - 1);
    lines.push_back(absl::StrCat("… and ", left_out,
                                 " more; NODES, --by rack and --sort choose what is shown"));
  }
  return lines;
}

absl::StatusOr<int> FollowTop(Context& context, Connection& connection, const std::string& nodes,
                              const TopOptions& options) {
  Clock& clock = *context.clock;
  Terminal terminal;
  const InterruptFlag interrupt;
  Patience patience(
      clock, [&] { connection.Renew(); },
      [&](absl::string_view text) { terminal.Print(absl::StrCat(text, "\n")); },
      absl::InfiniteDuration());
  absl::Duration interval = absl::Milliseconds(500);  // until the first readings have come
  while (!InterruptFlag::IsSet()) {
    const absl::StatusOr<v1::GetReadingsResponse> response = ReadNow(connection, nodes);
    if (!response.ok()) {
      RETURN_IF_ERROR(patience.Await(response.status()));
      continue;
    }
    patience.OnAnswer();
    if (IsWhole(*response)) interval = ToDuration(response->interval());
    const ScreenSize size = terminal.size();
    TopOptions fitting = options;
    fitting.columns = ColumnsOf(size);
    terminal.Redraw(Fit(RenderTop(*response, fitting), size));
    const absl::Time next = clock.Now() + interval;
    while (clock.Now() < next && !InterruptFlag::IsSet())
      clock.Sleep(std::min(InterruptFlag::kInterval, next - clock.Now()));
  }
  return kExitClean;
}

absl::StatusOr<int> Top(Context& context, const TopAsk& ask) {
  const TopOptions options = {.by_rack = ask.by_rack, .order = *ParseTopOrder(ask.order)};
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  if (!ask.once && context.output == OutputFormat::kTable && Terminal().interactive())
    return FollowTop(context, *connection, ask.nodes, options);
  ASSIGN_OR_RETURN(const v1::GetReadingsResponse response,
                   ReadOnce(context, *connection, ask.nodes));
  Show(context, response, [&] { return RenderTop(response, options); });
  return kExitClean;
}

}  // namespace

void AddTop(CLI::App& app, Context& context) {
  CLI::App* top = app.add_subcommand("top", "The load, heat and power of nodes and racks now");
  auto ask = std::make_shared<TopAsk>();
  auto by = std::make_shared<std::string>("node");
  top->add_option("nodes", ask->nodes, "Host list, groups, globs (default: all nodes)")
      ->type_name("NODES");
  top->add_option("--by", *by, "A row for each: node (default) or rack")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"node", "rack"}));
  top->add_option("--sort", ask->order,
                  "name (default), cpu, memory, gpu, temperature, power or network")
      ->type_name("WHAT")
      ->check(CLI::Validator(
          [](const std::string& word) {
            return ParseTopOrder(word).has_value()
                       ? ""
                       : "not one of name, cpu, memory, gpu, temperature, power, network";
          },
          ""));
  top->add_flag("--once", ask->once, "Print once and end, as without a terminal");
  top->footer(
      "Nodes measure while somebody looks, every two seconds; rarely when more than a thousand are "
      "watched. Ctrl-C ends it.");
  SetAction(top, context, [&context, ask, by] {
    ask->by_rack = *by == "rack";
    return Top(context, *ask);
  });
}

}  // namespace muster::cli
