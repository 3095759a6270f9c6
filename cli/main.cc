#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/context.h"
#include "cli/render/output.h"
#include "cli/render/usage_hint.h"
#include "cli/verbs/verbs.h"
#include "common/base/clock.h"
#include "common/base/version.h"

namespace muster::cli {
namespace {

// In the order of --help.
constexpr void (*kNouns[])(CLI::App&, Context&) = {
    AddInit,     AddStatus,     AddHealth,    AddTop,      AddSilence,  AddEvent,
    AddDrift,    AddWhoAmI,     AddInventory, AddToken,    AddNode,     AddPower,
    AddBoot,     AddExec,       AddPlan,      AddApply,    AddRun,      AddUpdate,
    AddRollout,  AddController, AddBundle,    AddValidate, AddHardware, AddStack,
    AddSnapshot, AddImage,      AddExplain,   AddSecret,   AddUser,     AddCa,
    AddAudit,    AddNotify,     AddWeb,       AddBackup,   AddHelp,     AddCompletion,
};

// The verb that the command line leads to.
const CLI::App* ParsedCommand(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return command;
}

// The help of a verb names the options that all verbs have, but not the first steps.
void FinishHelp(CLI::App& app, const std::string& inherited) {
  for (CLI::App* command : app.get_subcommands(nullptr)) {
    const std::string own = command->get_footer() == inherited ? "" : command->get_footer();
    FinishHelp(*command, inherited);
    command->footer(
        absl::StrCat(own, own.empty() ? "" : "\n\n",
                     "Everywhere: --config DIR, -o table|json|yaml; see muster --help"));
  }
}

// One line instead of CLI11's two, with the nearest option where one was mistyped.
void PrintUsageError(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const CLI::App* command = ParsedCommand(app);
  const std::string hint = OptionHint(*command, {argv + 1, argv + argc});
  std::string path = command->get_name();
  for (const CLI::App* at = command->get_parent(); at != nullptr; at = at->get_parent())
    path = at->get_name() + " " + path;
  std::cerr << "muster: " << error.what() << hint << "; see " << path << " --help\n";
}

int Main(int argc, char** argv) {
  // gRPC writes its own log of failed handshakes to standard error; the important part of it is in
  // the error that the call returns.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  // Resolves names as everything else on the machine does. gRPC's own resolver asks a DNS server
  // even for names in /etc/hosts, and waits seconds where none answers.
  setenv("GRPC_DNS_RESOLVER", "native", /*overwrite=*/0);
  RealClock clock;
  Context context;
  context.clock = &clock;
  CLI::App app("Takes GPU servers from bare machines to a running Slurm cluster.", "muster");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string("muster ") + kVersion);
  app.add_option("--config", context.config_directory,
                 "Folder with cli.json and credentials (default: $MUSTER_CONFIG_DIR, "
                 "~/.config/muster, /etc/muster/admin)")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "-o,--output",
         [&context](const std::string& name) {
           context.output = ParseOutputFormat(name).value_or(OutputFormat::kTable);
         },
         "table, json or yaml")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "yaml"}).description(""));
  app.footer(
      "First steps:\n"
      "  muster init --cluster hpc1 --controller login1:7443   on the controller, once\n"
      "  muster inventory apply inventory/                     describe the machines\n"
      "  muster node bootstrap --ssh 'c[001-016]'              install the agents\n"
      "  muster apply playbooks/site.yaml                      configure the machines");
  for (const auto add : kNouns) add(app, context);
  FinishHelp(app, app.get_footer());
  if (argc > 1 && std::string(argv[1]) == "__complete") {
    for (const std::string& word : CompleteWords(app, context, {argv + 2, argv + argc}))
      std::cout << word << "\n";
    return kExitClean;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports through exceptions, including --help and --version.
    if (error.get_exit_code() == 0) return app.exit(error);
    if (argc == 1) {
      std::cerr << app.help();
    } else if (const std::string unknown = UnknownCommand(app, {argv + 1, argv + argc});
               !unknown.empty()) {
      std::cerr << "muster: " << unknown << "\n";
    } else {
      PrintUsageError(app, error, argc, argv);
    }
    return kExitError;
  }
  return context.exit_code;
}

}  // namespace
}  // namespace muster::cli

int main(int argc, char** argv) { return muster::cli::Main(argc, argv); }
