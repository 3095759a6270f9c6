// muster health: what is wrong with nodes, and what is done about it.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/connection.h"
#include "cli/render/report/health_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "muster/v1/health.grpc.pb.h"

namespace muster::cli {
namespace {

using HealthStub = v1::HealthService::Stub;

absl::StatusOr<int> ShowHealth(Context& context, const v1::ListHealthRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::ListHealthResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HealthStub::ListHealth, request, &response));
  Show(context, response, [&] { return RenderHealth(response, context.clock->Now()); });
  return response.bad() > 0 ? kExitFailed : kExitClean;
}

absl::StatusOr<int> ShowHistory(Context& context, const v1::ListConditionHistoryRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::ListConditionHistoryResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HealthStub::ListConditionHistory, request, &response));
  Show(context, response, [&] { return RenderConditionHistory(response, context.clock->Now()); });
  return kExitClean;
}

absl::StatusOr<int> Clear(Context& context, const v1::ClearConditionRequest& request) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HealthStub stub(connection->channel());
  v1::ClearConditionResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HealthStub::ClearCondition, request, &response));
  Show(context, response, [&] { return RenderCleared(request.condition(), response); });
  return response.away().empty() ? kExitClean : kExitFailed;
}

}  // namespace

void AddHealth(CLI::App& app, Context& context) {
  CLI::App* health =
      app.add_subcommand("health", "What is wrong with nodes, and what the policy does about it");
  auto request = std::make_shared<v1::ListHealthRequest>();
  auto nodes = std::make_shared<std::string>();
  auto all = std::make_shared<bool>(false);
  health->add_option("nodes", *nodes, "Host list, groups, globs (default: nodes that are not well)")
      ->type_name("NODES");
  health->add_flag("--all", *all, "Show nodes that are well, too");
  health->footer("Exit codes: 0 no node is bad, 3 a node is bad, 1 the call failed.");
  SetAction(health, context, [&context, nodes, all, request, health]() -> absl::StatusOr<int> {
    if (!health->get_subcommands().empty()) return context.exit_code;
    request->set_nodes(*nodes);
    request->set_all(*all);
    return ShowHealth(context, *request);
  });

  CLI::App* history = health->add_subcommand("history", "When conditions changed, newest first");
  auto asked = std::make_shared<std::string>();
  auto condition = std::make_shared<std::string>();
  auto limit = std::make_shared<uint32_t>(50);
  history->add_option("nodes", *asked, "Host list (default: all nodes)")->type_name("HOSTLIST");
  history->add_option("--condition", *condition, "Only this one")->type_name("NAME");
  history->add_option("-n,--limit", *limit, "How many (default 50)")->type_name("COUNT");
  SetAction(history, context, [&context, asked, condition, limit] {
    v1::ListConditionHistoryRequest events;
    events.set_nodes(*asked);
    events.set_condition(*condition);
    events.set_limit(*limit);
    return ShowHistory(context, events);
  });

  CLI::App* clear = health->add_subcommand(
      "clear", "End a condition whose cause is gone, as after a reset of a GPU by hand");
  auto cleared = std::make_shared<v1::ClearConditionRequest>();
  clear->add_option("nodes", *cleared->mutable_nodes(), "Host list, groups, globs")
      ->required()
      ->type_name("NODES");
  clear->add_option("condition", *cleared->mutable_condition(), "Its name")
      ->required()
      ->type_name("CONDITION");
  clear
      ->add_option("--object", *cleared->mutable_object(),
                   "Only of this part, as `muster health` shows it")
      ->type_name("PART");
  clear->add_option("--reason", *cleared->mutable_reason(), "What was done; the audit log keeps it")
      ->required()
      ->type_name("TEXT");
  clear->footer("Exit codes: 0 cleared, 3 a node that has it is away, 1 the call failed.");
  SetAction(clear, context, [&context, cleared] { return Clear(context, *cleared); });
}

}  // namespace muster::cli
