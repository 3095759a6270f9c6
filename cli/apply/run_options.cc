#include "cli/apply/run_options.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"

namespace muster::cli {

void AddSelectionOptions(CLI::App& command, RunOptions& options) {
  command
      .add_option("-l,--limit", options.limit,
                  "Only these nodes: host list, groups, globs, !exclusions")
      ->type_name("NODES");
  command.add_option("-t,--tags", options.tags, "Only tasks with one of these tags")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("TAG");
}

void AddExtraVarsOption(CLI::App& command, RunOptions& options) {
  command
      .add_option("-e,--extra-vars", options.extra_vars,
                  "name=value; overrides every other definition")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

absl::StatusOr<v1::CreateRunRequest> RequestFor(const RunOptions& options) {
  v1::CreateRunRequest request;
  request.set_limit(options.limit);
  for (const std::string& tag : options.tags) request.add_tags(tag);
  for (const std::string& assignment : options.extra_vars)
    RETURN_IF_ERROR(AddExtraVar(assignment, request));
  request.set_want_diff(options.diff);
  request.set_reboot_with_jobs(options.reboot_with_jobs);
  return request;
}

absl::Status AddExtraVar(const std::string& assignment, v1::CreateRunRequest& request) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(assignment, absl::MaxSplits('=', 1));
  if (parts.first.empty() || assignment.find('=') == std::string::npos)
    return absl::InvalidArgumentError(
        absl::StrCat("-e ", assignment, ": expected name=value, such as -e ntp=10.0.0.1"));
  const auto json = nlohmann::json::parse(parts.second, nullptr, false);
  (*request.mutable_extra_vars())[parts.first] =
      json.is_discarded() ? nlohmann::json(parts.second).dump() : parts.second;
  return absl::OkStatus();
}

}  // namespace muster::cli
