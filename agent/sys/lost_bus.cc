#include "agent/sys/lost_bus.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace muster::agent {

bool IsLostConnection(int error) {
  return error == ECONNRESET || error == ECONNABORTED || error == ENOTCONN || error == EPIPE ||
         error == ESHUTDOWN;
}

std::string FailureInState(UnitJob job, const UnitStatus& status) {
  const bool has_failed = status.active_state == "failed";
  const bool is_stopped = has_failed || status.active_state == "inactive";
  const std::string now = absl::StrCat("it is ", status.active_state, " (", status.sub_state, ")");
  if (job == UnitJob::kStop) return is_stopped ? "" : now;
  if (has_failed) return "it failed";
  if (!is_stopped) return "";
  // Nothing else that was started is found inactive.
  const bool has_run = status.ends_by_itself && status.ended_well;
  return has_run || !status.conditions_held ? "" : now;
}

}  // namespace muster::agent
