#include "controller/run/plan/reboot_mode.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace {

constexpr char kLastRole[] = "last_reboot";

}  // namespace

void PutRebootsOff(v1::Plan& plan) {
  for (v1::RolePlan& role : *plan.mutable_roles()) {
    for (auto* steps : {role.mutable_steps(), role.mutable_handlers()}) {
      for (v1::Step& step : *steps) {
        if (!step.has_reboot()) continue;
        const v1::RebootResource reboot = step.reboot();
        *step.mutable_pending_reboot() = reboot;
      }
    }
  }
}

absl::Status AddLastReboot(const std::string& boot_id, v1::Plan& plan) {
  if (boot_id.empty()) {
    return absl::FailedPreconditionError(
        "which boot the node is in is not known, so whether it has rebooted would not be seen; "
        "try again when its agent has connected");
  }
  std::string name = kLastRole;
  const auto is_taken = [&name](const v1::RolePlan& role) { return role.name() == name; };
  while (std::any_of(plan.roles().begin(), plan.roles().end(), is_taken)) name.push_back('_');
  v1::RolePlan last;
  last.set_name(name);
  for (const v1::RolePlan& role : plan.roles()) last.add_needs(role.name());
  v1::Step& step = *last.add_steps();
  step.set_step_id(absl::StrCat(name, "/reboot"));
  step.set_name("reboot");
  step.mutable_last_reboot()->set_boot_id(boot_id);
  *plan.add_roles() = std::move(last);
  return absl::OkStatus();
}

}  // namespace muster::controller
