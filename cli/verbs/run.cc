// muster run: past runs, and the current one.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/plain_text.h"
#include "cli/render/run/ending_report.h"
#include "cli/render/run/failure_report.h"
#include "cli/render/run/run_report.h"
#include "cli/render/show.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/run_ending.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/human_duration.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;

// The lines shown of each failure's output, when several nodes are shown.
constexpr size_t kOutputLines = 40;

const char* RunStateWord(v1::RunState state) {
  switch (state) {
    case v1::RUN_STATE_RUNNING:
      return "running";
    case v1::RUN_STATE_SUCCEEDED:
      return "succeeded";
    case v1::RUN_STATE_FAILED:
      return "failed";
    case v1::RUN_STATE_CANCELLED:
      return "cancelled";
    default:
      return "?";
  }
}

absl::StatusOr<int> ListRuns(Context& context, uint32_t limit) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RunStub stub(connection->channel());
  v1::ListRunsRequest request;
  request.set_limit(limit);
  v1::ListRunsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &RunStub::ListRuns, request, &response));
  Show(context, response, [&] {
    Table table({"RUN", "STATE", "PLAYBOOK", "LIMIT", "BY", "STARTED", "TOOK"});
    const absl::Time now = context.clock->Now();
    for (const v1::Run& run : response.runs()) {
      const absl::Time started = ToTime(run.created_at());
      const absl::Time ended = run.has_finished_at() ? ToTime(run.finished_at()) : now;
      table.AddRow({run.run_id(),
                    absl::StrCat(RunStateWord(run.state()), run.check_only() ? " (check)" : ""),
                    run.playbook(), run.limit(), run.created_by(), HumanTime(started, now),
                    HumanDuration(ended - started)});
    }
    return table.ToString();
  });
  return kExitClean;
}

absl::StatusOr<v1::Run> GetRun(const Connection& connection, const std::string& run_id) {
  RunStub stub(connection.channel());
  v1::GetRunRequest request;
  request.set_run_id(run_id);
  v1::GetRunResponse response;
  RETURN_IF_ERROR(Call(connection, stub, &RunStub::GetRun, request, &response));
  return std::move(*response.mutable_run());
}

struct ShowOptions {
  std::string run_id, node;
  bool failed = false, steps = false;
};

// Page by page; a table is also printed that way, JSON needs everything.
absl::StatusOr<int> ShowSteps(Context& context, Connection& connection,
                              const ShowOptions& options) {
  RunStub stub(connection.channel());
  v1::ListStepResultsRequest request;
  request.set_run_id(options.run_id);
  request.set_node(options.node);
  request.set_failed_only(options.failed);
  const bool as_table = context.output == OutputFormat::kTable;
  const bool fold = as_table && options.failed && options.node.empty();
  ASSIGN_OR_RETURN(const v1::Run run, GetRun(connection, options.run_id));
  FailureReport failures(kOutputLines);
  v1::ListStepResultsResponse all;
  bool any = false;
  do {
    v1::ListStepResultsResponse page;
    RETURN_IF_ERROR(Call(connection, stub, &RunStub::ListStepResults, request, &page));
    any |= page.results_size() > 0;
    request.set_after_sequence(page.next_after_sequence());
    if (!as_table) {
      all.mutable_results()->MergeFrom(page.results());
      continue;
    }
    for (const v1::NodeStepResult& result : page.results()) {
      if (fold) {
        failures.Add(result);
        continue;
      }
      v1::RunEvent event;
      event.set_node(result.node());
      *event.mutable_step() = result.result();
      std::cout << Tame(
          RenderEventLine(event, {.check_only = run.check_only(),
                                  .quiet_steps = true,
                                  .values = true,
                                  .output = true,
                                  .output_lines = options.node.empty() ? kOutputLines : 0}));
    }
  } while (request.after_sequence() > 0);
  Show(context, all, [&] { return any ? failures.Render() : std::string("no such steps\n"); });
  return kExitClean;
}

absl::StatusOr<int> ShowRun(Context& context, const ShowOptions& options) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  if (options.steps || options.failed || !options.node.empty()) {
    return ShowSteps(context, *connection, options);
  }
  v1::GetRunResponse response;
  ASSIGN_OR_RETURN(*response.mutable_run(), GetRun(*connection, options.run_id));
  Show(context, response, [&] {
    const v1::Run& run = response.run();
    const absl::Time now = run.has_finished_at() ? ToTime(run.finished_at()) : context.clock->Now();
    RunView view(run, now);
    v1::RunEvent end;
    *end.mutable_run_finished() = run;
    view.Apply(end, now);
    return absl::StrCat("run ", run.run_id(), ": ", run.playbook(), ", ", RunStateWord(run.state()),
                        run.check_only() ? " (check mode)" : "", ", by ", run.created_by(), "\n",
                        run.catches_up_run_id().empty()
                            ? ""
                            : absl::StrCat("catches up with run ", run.catches_up_run_id(), "\n"),
                        RenderRecap(view, now), run.validations().empty() ? "" : "\n",
                        RenderEndings(run));
  });
  return kExitClean;
}

absl::StatusOr<int> CancelRun(Context& context, const std::string& run_id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RunStub stub(connection->channel());
  v1::CancelRunRequest request;
  request.set_run_id(run_id);
  v1::CancelRunResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &RunStub::CancelRun, request, &response));
  std::cout << "run " << run_id << " stops when its nodes have finished their current step\n";
  return kExitClean;
}

}  // namespace

void AddRun(CLI::App& app, Context& context) {
  CLI::App* run = app.add_subcommand("run", "List, show, watch and cancel runs");
  run->require_subcommand(1);

  CLI::App* list = run->add_subcommand("list", "Runs, newest first");
  auto limit = std::make_shared<uint32_t>(20);
  list->add_option("-n,--limit", *limit, "How many (default 20)")->type_name("COUNT");
  SetAction(list, context, [&context, limit] { return ListRuns(context, *limit); });

  CLI::App* show = run->add_subcommand("show", "Show one run: its totals, or its steps");
  auto options = std::make_shared<ShowOptions>();
  show->add_option("run", options->run_id, "Its id, from `muster run list`")
      ->required()
      ->type_name("RUN");
  show->add_option("-n,--node", options->node, "Show only steps of this node")->type_name("NODE");
  show->add_flag("--steps", options->steps, "Show every step's result");
  show->add_flag("--failed", options->failed,
                 "Show failed steps, with the output of their programs");
  SetAction(show, context, [&context, options] { return ShowRun(context, *options); });

  CLI::App* watch = run->add_subcommand("watch", "Follow a run and its validations to the end");
  auto watch_id = std::make_shared<std::string>();
  auto watch_options = std::make_shared<WatchOptions>();
  watch->add_option("run", *watch_id, "Its id, from `muster run list`")
      ->required()
      ->type_name("RUN");
  watch->add_flag("-v,--verbose", watch_options->verbose,
                  "Also show steps that were ok or skipped");
  watch->add_flag("--detailed-exitcode", watch_options->detailed_exit_code,
                  "Exit with 2 when something changed");
  SetAction(watch, context, [&context, watch_id, watch_options]() -> absl::StatusOr<int> {
    ASSIGN_OR_RETURN(Connection * connection, context.Connect());
    return WatchRunAndEndings(context, *connection, *watch_id, *watch_options);
  });

  CLI::App* cancel = run->add_subcommand("cancel", "Stop a run after its current steps");
  auto cancel_id = std::make_shared<std::string>();
  cancel->add_option("run", *cancel_id, "Its id, from `muster run list`")
      ->required()
      ->type_name("RUN");
  SetAction(cancel, context, [&context, cancel_id] { return CancelRun(context, *cancel_id); });
}

}  // namespace muster::cli
