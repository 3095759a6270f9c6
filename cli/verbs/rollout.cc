// muster rollout: rolling updates, past and present.
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/rollout/policy_report.h"
#include "cli/render/rollout/rollout_page.h"
#include "cli/render/rollout/rollout_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/rollout_watcher.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"
#include "muster/v1/rollout.grpc.pb.h"

namespace muster::cli {
namespace {

using RolloutStub = v1::RolloutService::Stub;

absl::StatusOr<int> ListRollouts(Context& context, uint32_t limit) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RolloutStub stub(connection->channel());
  v1::ListRolloutsRequest request;
  request.set_limit(limit);
  v1::ListRolloutsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &RolloutStub::ListRollouts, request, &response));
  ASSIGN_OR_RETURN(const v1::ListUpdatePoliciesResponse policies, ListPolicies(*connection));
  Show(context, response, [&] {
    const std::string table = RenderPolicies(policies, context.clock->Now());
    return absl::StrCat(RenderRollouts(response, context.clock->Now()), table.empty() ? "" : "\n",
                        table);
  });
  return kExitClean;
}

absl::StatusOr<int> ShowPolicies(Context& context) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::ListUpdatePoliciesResponse response, ListPolicies(*connection));
  Show(context, response, [&] {
    const std::string table = RenderPolicies(response, context.clock->Now());
    return table.empty() ? "the inventory has no update policies (`updates:`, see `muster help "
                           "updates`)\n"
                         : table;
  });
  return kExitClean;
}

struct RolloutShowOptions {
  std::string rollout_id, html;
  bool events = false;
};

absl::StatusOr<int> WritePage(Context& context, const v1::Rollout& rollout,
                              const std::string& path) {
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.WriteAtomically(
      path, RenderRolloutPage(rollout, context.clock->Now(), absl::LocalTimeZone()),
      {.mode = 0644}));
  std::cout << path << "\n";
  return kExitClean;
}

absl::StatusOr<int> ShowRollout(Context& context, const RolloutShowOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Rollout rollout, GetRollout(*connection, options.rollout_id));
  if (!options.html.empty()) return WritePage(context, rollout, options.html);
  Show(context, rollout, [&] {
    return absl::StrCat(
        RenderRollout(rollout, context.clock->Now()),
        options.events ? absl::StrCat("\n", RenderTimeline(rollout, absl::LocalTimeZone())) : "");
  });
  return kExitClean;
}

struct RolloutChangeOptions {
  std::string rollout_id, reason;
};

// The ways in which a person changes a rollout.
struct RolloutChange {
  const char* name;
  const char* help;
  grpc::Status (RolloutStub::*method)(grpc::ClientContext*, const v1::ChangeRolloutRequest&,
                                      v1::ChangeRolloutResponse*);
};
constexpr RolloutChange kChanges[] = {
    {"pause", "Take no further node; those that are being updated are finished",
     &RolloutStub::PauseRollout},
    {"resume", "Continue a paused rollout; failures until now are forgiven",
     &RolloutStub::ResumeRollout},
    {"abort", "End a rollout; nodes that are being updated are finished first",
     &RolloutStub::AbortRollout},
    {"rollback", "End a rollout, and take its nodes back to the bundle of before",
     &RolloutStub::RollBackRollout},
};

absl::StatusOr<int> ChangeRollout(Context& context, const RolloutChange& change,
                                  const RolloutChangeOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RolloutStub stub(connection->channel());
  v1::ChangeRolloutRequest request;
  request.set_rollout_id(options.rollout_id);
  request.set_reason(options.reason);
  v1::ChangeRolloutResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, change.method, request, &response));
  Show(context, response, [&] { return RenderChange(response.rollout()); });
  return kExitClean;
}

absl::StatusOr<int> ExplainNode(Context& context, const std::string& node,
                                const std::string& rollout_id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RolloutStub stub(connection->channel());
  v1::ExplainRolloutNodeRequest request;
  request.set_node(node);
  request.set_rollout_id(rollout_id);
  v1::ExplainRolloutNodeResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &RolloutStub::ExplainRolloutNode, request, &response));
  Show(context, response, [&] { return RenderExplanation(response, context.clock->Now()); });
  return kExitClean;
}

// Adds a verb for a single rollout.
CLI::App* AddRolloutVerb(CLI::App* parent, const char* name, const char* help, std::string& id) {
  CLI::App* verb = parent->add_subcommand(name, help);
  verb->add_option("rollout", id, "Its id, from `muster rollout list`")
      ->required()
      ->type_name("ROLLOUT");
  return verb;
}

void AddRolloutLooks(CLI::App* rollout, Context& context) {
  auto limit = std::make_shared<uint32_t>(20);
  CLI::App* list =
      rollout->add_subcommand("list", "Rollouts, newest first, and the update policies");
  list->add_option("-n,--limit", *limit, "How many (default 20)")->type_name("COUNT");
  SetAction(list, context, [&context, limit] { return ListRollouts(context, *limit); });

  CLI::App* policies = rollout->add_subcommand(
      "policies", "Show what the inventory's update policies do, or wait for");
  SetAction(policies, context, [&context] { return ShowPolicies(context); });

  auto options = std::make_shared<RolloutShowOptions>();
  CLI::App* show = AddRolloutVerb(rollout, "show", "Show one rollout: waves, nodes, failures",
                                  options->rollout_id);
  show->add_flag("--events", options->events, "Also show what happened, oldest first");
  show->add_option("--html", options->html, "Write it as an HTML page with its timeline instead")
      ->type_name("FILE");
  SetAction(show, context, [&context, options] { return ShowRollout(context, *options); });

  auto id = std::make_shared<std::string>();
  SetAction(AddRolloutVerb(rollout, "watch", "Follow a rollout to its end", *id), context,
            [&context, id]() -> absl::StatusOr<int> {
              ASSIGN_OR_RETURN(Connection * connection, context.Connect());
              return WatchRollout(context, *connection, *id);
            });

  auto node = std::make_shared<std::string>();
  CLI::App* explain =
      rollout->add_subcommand("explain", "Show what a node waits for, or what became of it");
  explain->add_option("node", *node, "Its name in the inventory")->required()->type_name("NODE");
  explain->add_option("--rollout", *id, "In this rollout (default: the newest that has the node)")
      ->type_name("ROLLOUT");
  SetAction(explain, context, [&context, node, id] { return ExplainNode(context, *node, *id); });
}

}  // namespace

void AddRollout(CLI::App& app, Context& context) {
  CLI::App* rollout = app.add_subcommand("rollout", "List, show, watch, pause and end updates");
  rollout->require_subcommand(1);
  AddRolloutLooks(rollout, context);
  for (const RolloutChange& change : kChanges) {
    auto options = std::make_shared<RolloutChangeOptions>();
    CLI::App* verb = AddRolloutVerb(rollout, change.name, change.help, options->rollout_id);
    verb->add_option("--reason", options->reason, "Why; goes into the audit log")
        ->type_name("TEXT");
    SetAction(verb, context,
              [&context, &change, options] { return ChangeRollout(context, change, *options); });
  }
}

}  // namespace muster::cli
