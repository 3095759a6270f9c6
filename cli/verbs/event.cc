// muster event: what has happened in the cluster.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/apply/duration_option.h"
#include "cli/connection.h"
#include "cli/render/report/timeline_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/timeline_watcher.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "muster/v1/timeline.grpc.pb.h"

namespace muster::cli {
namespace {

using TimelineStub = v1::TimelineService::Stub;

constexpr uint32_t kMaxListed = 100'000;
constexpr uint32_t kPage = 500;  // that the controller answers with at most

struct Options {
  std::string nodes, since;
  std::vector<std::string> kinds;
  uint32_t limit = 50;
};

absl::StatusOr<v1::ListTimelineRequest> RequestOf(const Options& options) {
  v1::ListTimelineRequest request;
  request.mutable_filter()->set_nodes(options.nodes);
  for (const std::string& kind : options.kinds) request.mutable_filter()->add_kinds(kind);
  if (options.since.empty()) return request;
  ASSIGN_OR_RETURN(const absl::Duration since,
                   ParseDurationOption("--since", options.since, absl::Seconds(1), "2h or 7d"));
  *request.mutable_since() = ToProtoDuration(since);
  return request;
}

// As many events as are wanted: one answer has a part of them at most.
absl::StatusOr<v1::ListTimelineResponse> ReadPages(const Connection& connection,
                                                   v1::ListTimelineRequest request,
                                                   uint32_t limit) {
  TimelineStub stub(connection.channel());
  v1::ListTimelineResponse all;
  for (bool is_first = true;; is_first = false) {
    const uint32_t wanted = limit - static_cast<uint32_t>(all.events_size());
    request.set_limit(std::min(wanted, kPage));
    v1::ListTimelineResponse page;
    RETURN_IF_ERROR(Call(connection, stub, &TimelineStub::ListTimeline, request, &page));
    if (is_first) *all.mutable_newest() = page.newest();
    for (v1::TimelineEvent& event : *page.mutable_events()) *all.add_events() = std::move(event);
    if (!page.has_next()) return all;
    *request.mutable_before() = page.next();
    if (static_cast<uint32_t>(all.events_size()) < limit) continue;
    *all.mutable_next() = page.next();
    return all;
  }
}

absl::StatusOr<int> List(Context& context, const Options& options) {
  ASSIGN_OR_RETURN(const v1::ListTimelineRequest request, RequestOf(options));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListTimelineResponse response,
                   ReadPages(*connection, request, options.limit));
  Show(context, response, [&] { return RenderTimeline(response, absl::LocalTimeZone()); });
  return kExitClean;
}

absl::StatusOr<int> Watch(Context& context, const Options& options) {
  ASSIGN_OR_RETURN(v1::ListTimelineRequest request, RequestOf(options));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  v1::WatchTimelineRequest watch;
  *watch.mutable_filter() = request.filter();
  // Without --since only the place where it begins is wanted, for which any event will do.
  if (!request.has_since()) request.clear_filter();
  ASSIGN_OR_RETURN(v1::ListTimelineResponse past,
                   ReadPages(*connection, request, request.has_since() ? kMaxListed : 1));
  *watch.mutable_after() = past.newest();
  if (request.has_since()) {
    std::reverse(past.mutable_events()->begin(), past.mutable_events()->end());
    for (const v1::TimelineEvent& event : past.events()) PrintTimelineEvent(context, event);
  }
  RETURN_IF_ERROR(WatchTimeline(context, *connection, watch));
  return kExitClean;
}

CLI::App* AddCommand(CLI::App& event, const char* name, const char* what,
                     const std::shared_ptr<Options>& options) {
  CLI::App* command = event.add_subcommand(name, what);
  command->add_option("nodes", options->nodes, "Host list (default: the whole cluster)")
      ->type_name("HOSTLIST");
  command->add_option("--kind", options->kinds, "Kinds and families, such as node.lost,rollout")
      ->delimiter(',')
      ->type_name("KIND,…");
  return command;
}

}  // namespace

void AddEvent(CLI::App& app, Context& context) {
  CLI::App* event = app.add_subcommand("event", "What has happened in the cluster: list, watch");
  event->require_subcommand(1);

  auto listed = std::make_shared<Options>();
  CLI::App* list = AddCommand(*event, "list", "Events, newest first", listed);
  list->add_option("--since", listed->since, "Only those of this last time, such as 2h or 7d")
      ->type_name("DURATION");
  list->add_option("-n,--limit", listed->limit, "How many (default 50)")
      ->check(CLI::Range(1u, kMaxListed).description(""))
      ->type_name("COUNT");
  SetAction(list, context, [&context, listed] { return List(context, *listed); });

  auto watched = std::make_shared<Options>();
  CLI::App* watch = AddCommand(*event, "watch", "Events as they happen, until Ctrl-C", watched);
  watch->add_option("--since", watched->since, "First those of this last time, such as 2h or 7d")
      ->type_name("DURATION");
  SetAction(watch, context, [&context, watched] { return Watch(context, *watched); });
}

}  // namespace muster::cli
