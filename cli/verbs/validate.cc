// muster validate: suites of checks over nodes.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/bootstrap/admission.h"
#include "cli/connection.h"
#include "cli/render/output.h"
#include "cli/render/show.h"
#include "cli/render/validation/suite_texts.h"
#include "cli/render/validation/validation_page.h"
#include "cli/render/validation/validation_report.h"
#include "cli/render/validation/validation_words.h"
#include "cli/site/site_bundle.h"
#include "cli/verbs/verbs.h"
#include "cli/watch/validation_calls.h"
#include "cli/watch/validation_watcher.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/human_duration.h"
#include "common/sys/archive/archive.h"
#include "common/sys/file_system.h"
#include "muster/v1/validation.grpc.pb.h"

namespace muster::cli {
namespace {

using ValidationStub = v1::ValidationService::Stub;

constexpr uint32_t kRecentValidations = 200;
constexpr char kEarlierText[] =
    "* an earlier text of the suite or of inventory/hardware: the newest differs\n";

struct StartOptions {
  std::string nodes, suite, site = ".";
  bool force = false, detach = false, watch = false;
  uint32_t max_rounds = 0;
};

absl::StatusOr<int> Start(Context& context, const StartOptions& options) {
  if (options.nodes.empty() || options.suite.empty()) {
    return absl::InvalidArgumentError(
        "specify nodes and a suite: muster validate c[001-016] --suite quick; or a command, see "
        "muster validate --help");
  }
  ASSIGN_OR_RETURN(const SiteBundle bundle, PackSuites(options.site));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  RETURN_IF_ERROR(UploadBundle(*connection, bundle));
  v1::CreateValidationRequest request;
  request.set_bundle_sha256(bundle.sha256);
  request.set_suite(options.suite);
  request.set_nodes(options.nodes);
  request.set_force(options.force);
  request.set_max_rounds(options.max_rounds);
  ValidationStub stub(connection->channel());
  v1::CreateValidationResponse response;
  // The controller first asks Slurm, which may take a while.
  RETURN_IF_ERROR(Call(*connection, stub, &ValidationStub::CreateValidation, request, &response,
                       absl::Minutes(1)));
  const std::string& id = response.validation().validation_id();
  if (options.detach) {
    std::cout << id << "\n";
    return kExitClean;
  }
  if (context.output == OutputFormat::kTable) {
    std::cout << "validation " << id << "\n" << RenderWitness(response.validation()) << std::flush;
  }
  ASSIGN_OR_RETURN(const int code, WatchValidation(context, *connection, id));
  if (code != kExitClean || context.output != OutputFormat::kTable) return code;
  const auto site = sys::UnpackTarGz(bundle.archive);
  if (site.ok()) std::cout << AdmissionHint(*site, options.suite, options.nodes);
  return code;
}

absl::StatusOr<int> ShowOne(Context& context, const std::string& id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Validation validation, GetValidation(*connection, id));
  // Whether the text of the suite has changed since; old validations are not looked at.
  ValidationStub stub(connection->channel());
  v1::ListValidationsRequest request;
  request.set_limit(kRecentValidations);
  v1::ListValidationsResponse recent;
  RETURN_IF_ERROR(Call(*connection, stub, &ValidationStub::ListValidations, request, &recent));
  Show(context, ValidationToValue(validation), [&] {
    std::string text = RenderValidation(validation, context.clock->Now());
    if (OfEarlierTexts(recent.validations()).count(id) > 0) absl::StrAppend(&text, kEarlierText);
    return text;
  });
  return kExitClean;
}

absl::StatusOr<int> ListValidations(Context& context, uint32_t limit) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ValidationStub stub(connection->channel());
  v1::ListValidationsRequest request;
  request.set_limit(limit);
  v1::ListValidationsResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ValidationStub::ListValidations, request, &response));
  Show(context, ValidationToValue(response), [&] {
    Table table(
        {"VALIDATION", "STATE", "SUITE", "NODES", "PASSED", "FAILED", "BY", "STARTED", "TOOK"});
    const absl::Time now = context.clock->Now();
    const std::set<std::string> earlier = OfEarlierTexts(response.validations());
    for (const v1::Validation& validation : response.validations()) {
      int passed = 0, failed = 0;
      std::vector<std::string> names;
      for (const v1::NodeVerdict& node : validation.nodes()) {
        if (node.is_witness()) continue;
        names.push_back(node.node());
        passed += node.outcome() == v1::OUTCOME_PASS;
        failed += node.outcome() == v1::OUTCOME_FAIL;
      }
      const absl::Time started = ToTime(validation.created_at());
      const absl::Time ended =
          validation.has_finished_at() ? ToTime(validation.finished_at()) : now;
      const char* state = validation.state() == v1::VALIDATION_STATE_RUNNING     ? "running"
                          : validation.state() == v1::VALIDATION_STATE_CANCELLED ? "cancelled"
                                                                                 : "done";
      table.AddRow({validation.validation_id(), state,
                    absl::StrCat(validation.suite(),
                                 earlier.count(validation.validation_id()) > 0 ? " *" : ""),
                    FoldHostlist(std::move(names)), absl::StrCat(passed), absl::StrCat(failed),
                    validation.created_by(), HumanTime(started, now),
                    HumanDuration(ended - started)});
    }
    return absl::StrCat(table.ToString(), earlier.empty() ? "" : kEarlierText);
  });
  return kExitClean;
}

absl::StatusOr<int> History(Context& context, const std::string& nodes, uint32_t limit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ExpandHostlist(nodes));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ValidationStub stub(connection->channel());
  v1::ListValidationsResponse all;
  std::string text;
  for (const std::string& name : names) {
    v1::ListValidationsRequest request;
    request.set_node(name);
    request.set_limit(limit);
    v1::ListValidationsResponse response;
    RETURN_IF_ERROR(Call(*connection, stub, &ValidationStub::ListValidations, request, &response));
    std::vector<v1::Validation> validations;
    for (const v1::Validation& listed : response.validations()) {
      ASSIGN_OR_RETURN(v1::Validation whole, GetValidation(*connection, listed.validation_id()));
      *all.add_validations() = whole;
      validations.push_back(std::move(whole));
    }
    absl::StrAppend(&text, RenderHistory(name, validations, context.clock->Now()));
  }
  Show(context, ValidationToValue(all), [&] { return text; });
  return kExitClean;
}

absl::StatusOr<int> CancelValidation(Context& context, const std::string& id) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ValidationStub stub(connection->channel());
  v1::CancelValidationRequest request;
  request.set_validation_id(id);
  v1::CancelValidationResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &ValidationStub::CancelValidation, request, &response));
  if (absl::StartsWith(id, "r-")) {
    std::cout << "what was waiting after run " << id << " will not be started\n";
  } else {
    std::cout << "validation " << id << " stops; checks that were running are unknown\n";
  }
  return kExitClean;
}

absl::StatusOr<int> Compare(Context& context, const std::string& a, const std::string& b) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Validation first, GetValidation(*connection, a));
  ASSIGN_OR_RETURN(const v1::Validation second, GetValidation(*connection, b));
  ASSIGN_OR_RETURN(const auto results_a,
                   GetCheckResults(*connection, a, "", /*with_samples=*/false));
  ASSIGN_OR_RETURN(const auto results_b,
                   GetCheckResults(*connection, b, "", /*with_samples=*/false));
  v1::ListValidationsResponse both;
  *both.add_validations() = first;
  *both.add_validations() = second;
  nlohmann::ordered_json value = ValidationToValue(both);
  value["results"] = nlohmann::ordered_json::array();
  for (const auto* results : {&results_a, &results_b}) {
    nlohmann::ordered_json of_one = nlohmann::ordered_json::array();
    for (const v1::NodeCheckResult& result : *results) of_one.push_back(ValidationToValue(result));
    value["results"].push_back(std::move(of_one));
  }
  Show(context, value, [&] { return RenderComparison(first, second, results_a, results_b); });
  return kExitClean;
}

absl::StatusOr<int> Report(Context& context, const std::string& id, const std::string& file) {
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  ASSIGN_OR_RETURN(const v1::Validation validation, GetValidation(*connection, id));
  ValidationPage page(validation);
  const auto take = [&](const v1::NodeCheckResult& result) { page.Take(result); };
  const auto draw = [&](const v1::NodeCheckResult& result) { page.TakeCurves(result); };
  // The curves make up nearly all of the bytes: fetch only those that are drawn.
  RETURN_IF_ERROR(ForEachCheckResult(*connection, id, "", /*with_samples=*/false, take));
  for (const std::string& node : page.nodes_with_curves()) {
    RETURN_IF_ERROR(ForEachCheckResult(*connection, id, node, /*with_samples=*/true, draw));
  }
  const std::string path = file.empty() ? absl::StrCat(id, ".html") : file;
  sys::RealFileSystem files;
  RETURN_IF_ERROR(files.WriteAtomically(path, page.Render(absl::LocalTimeZone()), {.mode = 0644}));
  std::cout << path << "\n";
  return kExitClean;
}

// Adds a verb for a single validation.
CLI::App* AddVerb(CLI::App* parent, const char* name, const char* help,
                  const std::shared_ptr<std::string>& id) {
  CLI::App* verb = parent->add_subcommand(name, help);
  verb->add_option("validation", *id, "Its id, from `muster validate list`")
      ->required()
      ->type_name("VALIDATION");
  return verb;
}

void AddLooks(CLI::App* validate, Context& context) {
  auto id = std::make_shared<std::string>();
  SetAction(AddVerb(validate, "show", "Show one validation: verdicts, findings, blame", id),
            context, [&context, id] { return ShowOne(context, *id); });
  SetAction(AddVerb(validate, "watch", "Follow a validation to its end", id), context,
            [&context, id]() -> absl::StatusOr<int> {
              ASSIGN_OR_RETURN(Connection * connection, context.Connect());
              return WatchValidation(context, *connection, *id);
            });
  CLI::App* cancel =
      validate->add_subcommand("cancel", "Stop a validation, or suites that wait after a run");
  cancel
      ->add_option("id", *id,
                   "A validation: its running checks become unknown; or a run: its suites that "
                   "wait for nodes are never started")
      ->required()
      ->type_name("VALIDATION|RUN");
  SetAction(cancel, context, [&context, id] { return CancelValidation(context, *id); });
  auto file = std::make_shared<std::string>();
  CLI::App* report =
      AddVerb(validate, "report", "Write one validation as an HTML page with its curves", id);
  report->add_option("file", *file, "File to write (default VALIDATION.html)")->type_name("FILE");
  SetAction(report, context, [&context, id, file] { return Report(context, *id, *file); });

  auto limit = std::make_shared<uint32_t>(20);
  CLI::App* list = validate->add_subcommand("list", "Validations, newest first");
  list->add_option("-n,--limit", *limit, "How many (default 20)")->type_name("COUNT");
  SetAction(list, context, [&context, limit] { return ListValidations(context, *limit); });

  auto nodes = std::make_shared<std::string>();
  CLI::App* history = validate->add_subcommand("history", "Show the verdicts on nodes over time");
  history->add_option("nodes", *nodes, "Such as c001 or c[001-004]")
      ->required()
      ->type_name("HOSTLIST");
  history->add_option("-n,--limit", *limit, "How many for each node (default 20)")
      ->type_name("COUNT");
  SetAction(history, context,
            [&context, nodes, limit] { return History(context, *nodes, *limit); });

  auto other = std::make_shared<std::string>();
  CLI::App* compare =
      validate->add_subcommand("compare", "Show what differs between two validations");
  compare->add_option("a", *id, "The earlier one")->required()->type_name("VALIDATION");
  compare->add_option("b", *other, "The later one")->required()->type_name("VALIDATION");
  SetAction(compare, context, [&context, id, other] { return Compare(context, *id, *other); });
}

}  // namespace

void AddValidate(CLI::App& app, Context& context) {
  CLI::App* validate =
      app.add_subcommand("validate", "Test nodes with a suite of checks, and show results");
  auto options = std::make_shared<StartOptions>();
  validate->add_option("nodes", options->nodes, "Host list, groups, globs, rack:NAME, !exclusions")
      ->type_name("NODES");
  validate->add_option("-s,--suite", options->suite, "A suite in playbooks/suites, such as quick")
      ->type_name("SUITE");
  validate
      ->add_option("--site", options->site,
                   "Folder with playbooks/suites and inventory/hardware (default .)")
      ->type_name("DIR");
  validate->add_flag("--force", options->force,
                     "Test even while Slurm jobs or other programs use the nodes");
  validate
      ->add_option("--max-rounds", options->max_rounds,
                   "Maximum number of rounds of pairs (default: as the suite says)")
      ->type_name("COUNT");
  CLI::Option* detach = validate->add_flag("-d,--detach", options->detach,
                                           "Print the validation's id and do not wait");
  validate->add_flag("-w,--watch", options->watch, "Follow it to its end, as without --detach")
      ->excludes(detach);
  validate->footer(
      "Ctrl-C detaches: the validation continues, and `muster validate watch` follows it again.\n"
      "Exit codes: 0 all nodes passed, 1 a node or the call failed, 2 not all are known,\n"
      "130 detached.");
  SetAction(validate, context, [&context, options, validate]() -> absl::StatusOr<int> {
    if (!validate->get_subcommands().empty()) return context.exit_code;
    return Start(context, *options);
  });
  AddLooks(validate, context);
  AddRma(*validate, context);
}

}  // namespace muster::cli
