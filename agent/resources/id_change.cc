#include "agent/resources/id_change.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/types.h"
#include "agent/sys/process_status.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

constexpr size_t kNamedProcesses = 5;

}  // namespace

absl::Status CheckIdMayChange(absl::string_view kind, const User& user, id_t before, id_t after,
                              ResourceContext& context) {
  // Nothing of a root that is not running runs.
  if (!context.is_running) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::vector<std::string> processes, ProcessesOfUser(user.uid, context.files));
  if (processes.empty()) return absl::OkStatus();
  const size_t more = processes.size() > kNamedProcesses ? processes.size() - kNamedProcesses : 0;
  processes.resize(processes.size() - more);
  return absl::UnavailableError(
      absl::StrCat("the ", kind, " of '", user.name, "' would change from ", before, " to ", after,
                   " while processes of the user run: ", absl::StrJoin(processes, ", "),
                   more > 0 ? absl::StrCat(" and ", more, " more") : "", "; keep ", before,
                   " in the inventory, or stop them and apply again"));
}

}  // namespace muster::agent
