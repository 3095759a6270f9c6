// muster hardware: the values that GPUs and network ports have to reach.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/apply/duration_option.h"
#include "cli/connection.h"
#include "cli/render/show.h"
#include "cli/render/validation/hardware_report.h"
#include "cli/site/site_folder.h"
#include "cli/verbs/verbs.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/nearest_word.h"
#include "muster/v1/hardware.grpc.pb.h"

namespace muster::cli {
namespace {

using HardwareStub = v1::HardwareService::Stub;

constexpr char kFolder[] = "inventory/hardware";
// The controller's time for the results of some thousand nodes.
constexpr absl::Duration kLearnTimeout = absl::Minutes(10);

absl::StatusOr<v1::ReadHardwareResponse> ReadHardware(Context& context, const std::string& site) {
  v1::ReadHardwareRequest request;
  RETURN_IF_ERROR(AddSiteFolder(site, kFolder, request.mutable_files()));
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HardwareStub stub(connection->channel());
  v1::ReadHardwareResponse response;
  RETURN_IF_ERROR(Call(*connection, stub, &HardwareStub::ReadHardware, request, &response));
  return response;
}

absl::StatusOr<int> Lint(Context& context, const std::string& site) {
  ASSIGN_OR_RETURN(const v1::ReadHardwareResponse response, ReadHardware(context, site));
  Show(context, response, [&] {
    std::string text =
        absl::StrCat(kFolder, " is valid: ", Counted(response.models_size(), "model"), "\n");
    for (const std::string& note : response.notes()) absl::StrAppend(&text, "! ", note, "\n");
    return text;
  });
  return kExitClean;
}

absl::StatusOr<int> ListHardware(Context& context, const std::string& site) {
  ASSIGN_OR_RETURN(const v1::ReadHardwareResponse response, ReadHardware(context, site));
  Show(context, response, [&] { return RenderHardwareList(response); });
  return kExitClean;
}

absl::StatusOr<int> ShowModel(Context& context, const std::string& site, const std::string& name) {
  ASSIGN_OR_RETURN(const v1::ReadHardwareResponse response, ReadHardware(context, site));
  std::vector<std::string> known;
  for (const v1::HardwareModel& model : response.models()) {
    known.push_back(model.name());
    bool named = absl::EqualsIgnoreCase(model.name(), name);
    for (const std::string& pattern : model.match()) {
      named = named || absl::EqualsIgnoreCase(pattern, name);
    }
    if (!named) continue;
    Show(context, model, [&] { return RenderHardwareModel(model); });
    return kExitClean;
  }
  return absl::NotFoundError(
      absl::StrCat("no file in ", kFolder, " is for '", name, "'", DidYouMean(name, known)));
}

struct LearnOptions {
  std::vector<std::string> models;
  std::string site = ".", suite, since;
  uint32_t min_results = 0;
};

absl::StatusOr<int> Learn(Context& context, const LearnOptions& options) {
  v1::LearnHardwareRequest request;
  RETURN_IF_ERROR(AddSiteFolder(options.site, kFolder, request.mutable_files()));
  for (const std::string& model : options.models) request.add_models(model);
  request.set_suite(options.suite);
  request.set_min_subjects(options.min_results);
  if (!options.since.empty()) {
    ASSIGN_OR_RETURN(const absl::Duration since,
                     ParseDurationOption("--since", options.since, absl::Seconds(1), "30d or 12h"));
    *request.mutable_since() = ToProtoDuration(since);
  }
  ASSIGN_OR_RETURN(Connection * connection, context.Connect());
  HardwareStub stub(connection->channel());
  v1::LearnHardwareResponse response;
  RETURN_IF_ERROR(
      Call(*connection, stub, &HardwareStub::LearnHardware, request, &response, kLearnTimeout));
  Show(context, response, [&] { return RenderLearned(response); });
  return kExitClean;
}

void AddSite(CLI::App* command, std::string& site) {
  command->add_option("--site", site, "Folder with inventory/hardware (default .)")
      ->type_name("DIR");
}

}  // namespace

void AddHardware(CLI::App& app, Context& context) {
  CLI::App* hardware =
      app.add_subcommand("hardware", "Limits for GPUs and ports: list, show, lint, learn");
  hardware->require_subcommand(1);
  auto site = std::make_shared<std::string>(".");
  CLI::App* list = hardware->add_subcommand("list", "List the hardware files of a site");
  AddSite(list, *site);
  SetAction(list, context, [&context, site] { return ListHardware(context, *site); });

  auto name = std::make_shared<std::string>();
  CLI::App* show = hardware->add_subcommand("show", "Show one of them: limits and their sources");
  show->add_option("model", *name, "Name of its file, or what it matches")
      ->required()
      ->type_name("MODEL");
  AddSite(show, *site);
  SetAction(show, context, [&context, site, name] { return ShowModel(context, *site, *name); });

  CLI::App* lint = hardware->add_subcommand("lint", "Report mistakes in hardware files");
  AddSite(lint, *site);
  SetAction(lint, context, [&context, site] { return Lint(context, *site); });

  auto options = std::make_shared<LearnOptions>();
  CLI::App* learn =
      hardware->add_subcommand("learn", "Propose floors from the results of good hardware");
  learn
      ->add_option("models", options->models,
                   "Names of files or models; a * at the end matches anything (default: all)")
      ->type_name("MODEL");
  learn
      ->add_option("-s,--suite", options->suite,
                   "Use results of this suite only (default: all suites)")
      ->type_name("SUITE");
  learn->add_option("--since", options->since, "Maximum age of results (default 30d)")
      ->type_name("TIME");
  learn
      ->add_option("--min-results", options->min_results,
                   "Minimum number of measured GPUs or ports (default: 8 of 3 nodes, or 5 nodes)")
      ->type_name("COUNT");
  AddSite(learn, options->site);
  learn->footer(
      "Changes no file: prints the changes, for review and `git apply`:\n"
      "  muster hardware learn > floors.diff && git apply floors.diff");
  SetAction(learn, context, [&context, options] { return Learn(context, *options); });
}

}  // namespace muster::cli
