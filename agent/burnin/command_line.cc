#include "agent/burnin/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"
#include "common/base/version.h"
#include "common/checks/parameter_value.h"

namespace muster::burnin {
namespace {

using checks::CheckSpec;
using checks::ParameterSpec;
using checks::Scope;

std::string ParameterHelp(const ParameterSpec& spec) {
  std::string help(spec.help);
  if (!spec.words.empty()) absl::StrAppend(&help, ": ", absl::StrJoin(spec.words, ", "));
  if (!spec.default_text.empty()) absl::StrAppend(&help, " (", spec.default_text, ")");
  return help;
}

std::string MetricHelp(const CheckSpec& check) {
  std::string text = "Measures:";
  for (const checks::MetricSpec& metric : check.metrics)
    absl::StrAppendFormat(&text, "\n  %-24s %s%s%s", metric.name, metric.help,
                          metric.unit == "1" ? "" : ", ", metric.unit == "1" ? "" : metric.unit);
  return text;
}

void AddCheck(CLI::App& app, const CheckSpec& check, CommandLine& line) {
  CLI::App* verb = app.add_subcommand(std::string(check.name), std::string(check.help));
  verb->callback([&check, &line] { line.check = &check; });
  for (const ParameterSpec& spec : check.parameters) {
    const std::string name(spec.name);
    const auto set = [name, &line](const std::string& text) { line.parameters[name] = text; };
    if (spec.type == checks::ParameterType::kFlag) {
      verb->add_flag_callback(
          "--" + name, [set] { set("true"); }, ParameterHelp(spec));
    } else {
      verb->add_option_function<std::string>("--" + name, set, ParameterHelp(spec))
          ->type_name(absl::AsciiStrToUpper(checks::TypeName(spec.type)));
    }
  }
  verb->footer("Write durations as 90s, 5m or 1h30m; a plain number means seconds.\n\n" +
               MetricHelp(check));
}

void AddGeneralOptions(CLI::App& app, CommandLine& line, std::vector<std::string>& sets) {
  app.add_option("--set", sets, "set a parameter as name=value; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_flag("--json", line.json, "print JSON lines, and stop when standard input ends");
  app.add_flag("--force", line.force, "run even while other programs use the GPUs");
  app.add_option("--rank", line.rank, "rank of this node in a check between nodes, from 0")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--ranks", line.ranks, "number of nodes that take part")
      ->check(CLI::Range(1, 65536));
  app.add_option("--key-file", line.key_file,
                 "file with the key by which the nodes recognize each other")
      ->type_name("FILE");
}

absl::Status TakeSets(const std::vector<std::string>& sets, CommandLine& line) {
  for (const std::string& set : sets) {
    const size_t equals = set.find('=');
    if (equals == std::string::npos || equals == 0)
      return absl::InvalidArgumentError(absl::StrCat("--set ", set, ": expected name=value"));
    line.parameters[set.substr(0, equals)] = set.substr(equals + 1);
  }
  return absl::OkStatus();
}

absl::Status CheckRanks(const CommandLine& line) {
  if (line.check == nullptr) return absl::OkStatus();
  if (line.rank >= line.ranks)
    return absl::InvalidArgumentError("--rank must be less than --ranks");
  if (line.ranks > 1 && line.check->scope == Scope::kNode)
    return absl::InvalidArgumentError(
        absl::StrCat(line.check->name, " checks one node only: --ranks does not apply"));
  return absl::OkStatus();
}

int Refuse(absl::string_view message, absl::string_view see) {
  std::cerr << "muster-burnin: " << message << "; see muster-burnin " << see << "\n";
  return kExitUsage;
}

// CLI11 only says that a verb is missing, not which word is not a verb.
std::string UnknownVerb(int argc, char** argv) {
  std::vector<std::string> verbs = {"list", "metrics", "xids", "kernel-errors"};
  for (const CheckSpec* check : checks::Checks()) verbs.emplace_back(check->name);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.empty() || word[0] == '-') continue;
    if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return "";
    return absl::StrCat("unknown check '", word, "'", DidYouMean(word, verbs));
  }
  return "";
}

}  // namespace

bool ParseCommandLine(int argc, char** argv, CommandLine& line, int& exit_code) {
  CLI::App app("Tests the hardware of this machine: one check, one verdict.", "muster-burnin");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", std::string("muster-burnin ") + kVersion);
  app.footer("Exit status: 0 pass, 1 fail, 2 unknown or skipped, 64 wrong usage");
  std::vector<std::string> sets;
  AddGeneralOptions(app, line, sets);
  app.add_subcommand("list", "list all checks");
  CLI::App* metrics =
      app.add_subcommand("metrics", "print what the GPUs report now, in the format of Prometheus");
  metrics->add_option("--expect", line.expected_gpus, "number of GPUs that the node should have")
      ->check(CLI::Range(0, 1024));
  metrics->add_option("--out", line.metrics_file, "file to replace, instead of printing")
      ->type_name("FILE");
  metrics->add_flag("--node-power", line.metrics_of_power,
                    "also what the machine draws, where it has a power meter or a BMC");
  CLI::App* xids = app.add_subcommand(
      "xids",
      "print Xids as the GPUs' driver tells them, for machines without a log of the kernel's; GPUs "
      "cannot be reset meanwhile");
  xids->add_option("--seconds", line.hear_seconds, "how long to listen (60)")
      ->type_name("SECONDS")
      ->check(CLI::Range(1, 3600));
  CLI::App* kernel_errors = app.add_subcommand(
      "kernel-errors",
      "print those lines of a kernel's log that report broken hardware; the log is read from "
      "standard input, as dmesg prints it. Exit status: 0 there is none, 1 there are some");
  kernel_errors
      ->add_option("--since", line.since_seconds, "time from which lines count, after the boot")
      ->type_name("SECONDS")
      ->check(CLI::NonNegativeNumber);
  for (const CheckSpec* check : checks::Checks()) AddCheck(app, *check, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 reports by exceptions, including --help and --version.
    if (error.get_exit_code() == 0) {
      exit_code = app.exit(error);
      return false;
    }
    const std::string unknown = UnknownVerb(argc, argv);
    exit_code = Refuse(unknown.empty() ? error.what() : unknown, "--help");
    return false;
  }
  line.metrics = metrics->parsed();
  line.xids = xids->parsed();
  line.kernel_errors = kernel_errors->parsed();
  absl::Status status = TakeSets(sets, line);
  if (status.ok()) status = CheckRanks(line);
  if (status.ok() && line.check != nullptr)
    status = checks::Parameters::Parse(*line.check, line.parameters).status();
  if (status.ok()) return true;
  exit_code = Refuse(status.message(), absl::StrCat(line.check != nullptr ? line.check->name : "",
                                                    line.check != nullptr ? " --help" : "--help"));
  return false;
}

std::string CheckList() {
  std::string text;
  for (const CheckSpec* check : checks::Checks())
    absl::StrAppendFormat(&text, "%-20s %s\n", check->name, check->help);
  return text;
}

}  // namespace muster::burnin
