#include "cli/apply/run_start.h"

#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/connection.h"
#include "cli/render/plain_text.h"
#include "cli/watch/terminal.h"
#include "common/base/status.h"
#include "muster/v1/run.grpc.pb.h"

namespace muster::cli {
namespace {

using Busy = google::protobuf::RepeatedPtrField<v1::BusyNodes>;

std::string NodesOf(const Busy& busy) {
  return absl::StrJoin(
      busy, ",", [](std::string* out, const v1::BusyNodes& each) { out->append(each.nodes()); });
}

void Name(const Busy& busy, absl::string_view word) {
  for (const v1::BusyNodes& each : busy) {
    std::cerr << Tame(absl::StrCat(each.nodes(), " ", word, ": ", each.reason())) << "\n";
  }
  std::cerr << std::flush;
}

absl::Status Decide(const Busy& busy, IfBusy if_busy) {
  Name(busy, "busy");
  if (if_busy == IfBusy::kRefuse || !CanAsk()) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing was started: other work holds ", NodesOf(busy)));
  }
  if (Confirm(absl::StrCat("Continue without ", NodesOf(busy), "?"))) return absl::OkStatus();
  return absl::CancelledError("nothing was started");
}

}  // namespace

absl::StatusOr<v1::Run> StartRun(Connection& connection, v1::CreateRunRequest request,
                                 IfBusy if_busy) {
  request.set_leave_out_busy(if_busy == IfBusy::kLeaveOut);
  while (true) {
    v1::RunService::Stub stub(connection.channel());
    v1::CreateRunResponse response;
    RETURN_IF_ERROR(Call(connection, stub, &v1::RunService::Stub::CreateRun, request, &response));
    if (response.has_run()) {
      Name(response.run().left_out(), "left out");
      return std::move(*response.mutable_run());
    }
    RETURN_IF_ERROR(Decide(response.busy(), if_busy));
    request.set_leave_out_busy(true);
  }
}

int ExitCodeWithLeftOut(int code, const v1::Run& run) {
  const bool is_good = code == kExitClean || code == kExitChanges;
  return is_good && !run.left_out().empty() ? kExitUnreachable : code;
}

}  // namespace muster::cli
