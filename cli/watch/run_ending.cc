#include "cli/watch/run_ending.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/connection.h"
#include "cli/render/run/ending_report.h"
#include "cli/render/show.h"
#include "cli/render/validation/validation_report.h"
#include "cli/watch/patience.h"
#include "cli/watch/terminal.h"
#include "cli/watch/validation_watcher.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/value/proto_value.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using RunStub = v1::RunService::Stub;

constexpr absl::Duration kAskInterval = absl::Milliseconds(300);

bool IsOpen(const v1::RunValidation& validation) {
  return validation.state() == v1::RUN_VALIDATION_STATE_WAITING;
}

// Prints a line of JSON for those who read the run's events that way.
void PrintDecisions(const v1::Run& run) {
  const nlohmann::ordered_json all = ProtoToValue(run);
  const nlohmann::ordered_json decided = {{"run_id", all["run_id"]},
                                          {"validations", all["validations"]}};
  std::cout << decided.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
            << std::endl;
}

}  // namespace

absl::StatusOr<v1::Run> GetDecidedRun(Context& context, Connection& connection,
                                      const std::string& run_id) {
  Clock& clock = *context.clock;
  v1::GetRunRequest request;
  request.set_run_id(run_id);
  const InterruptFlag interrupt;
  const auto say = [&](absl::string_view text) {
    if (context.output == OutputFormat::kTable) std::cout << text << std::flush;
  };
  Patience patience(
      clock, [&] { connection.Renew(); }, say);
  std::string told;
  while (true) {
    RunStub stub(connection.channel());
    v1::GetRunResponse response;
    const absl::Status status = Call(connection, stub, &RunStub::GetRun, request, &response);
    if (status.ok()) {
      patience.OnAnswer();
      const auto& validations = response.run().validations();
      const auto open = std::find_if(validations.begin(), validations.end(), IsOpen);
      if (open == validations.end() || InterruptFlag::IsSet()) return response.run();
      if (open->message() != told) say(RenderEnding(*open));
      told = open->message();
      clock.Sleep(kAskInterval);
    } else {
      if (InterruptFlag::IsSet()) return status;
      RETURN_IF_ERROR(patience.Await(status));
    }
  }
}

absl::StatusOr<int> WatchRunAndEndings(Context& context, Connection& connection,
                                       const std::string& run_id, const WatchOptions& options) {
  ASSIGN_OR_RETURN(const int run_code, WatchRun(context, connection, run_id, options));
  if (run_code == kExitDetached) return run_code;
  ASSIGN_OR_RETURN(const v1::Run run, GetDecidedRun(context, connection, run_id));
  if (run.validations().empty()) return run_code;
  const bool as_table = context.output == OutputFormat::kTable;
  if (as_table) {
    std::cout << "\n" << RenderEndings(run) << std::flush;
  } else {
    PrintDecisions(run);
  }
  std::vector<int> codes;
  for (const v1::RunValidation& validation : run.validations()) {
    if (IsOpen(validation)) {
      if (as_table) {
        std::cout << "\ndetached; the controller continues. To see it again: muster run watch "
                  << run_id << "\n";
      }
      return kExitDetached;
    }
    if (validation.state() == v1::RUN_VALIDATION_STATE_NOT_STARTED) codes.push_back(kExitNotPassed);
    if (validation.state() != v1::RUN_VALIDATION_STATE_STARTED) continue;
    ASSIGN_OR_RETURN(const int code,
                     WatchValidation(context, connection, validation.validation_id()));
    if (code == kExitDetached) return code;
    codes.push_back(code);
  }
  return ExitCodeWithEndings(run_code, codes, options.detailed_exit_code);
}

}  // namespace muster::cli
