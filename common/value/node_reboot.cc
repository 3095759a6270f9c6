#include "common/value/node_reboot.h"

#include <nlohmann/json.hpp>

namespace muster {
namespace {

// The mark is gone after the reboot, so that the next run of the playbook reboots again, and a run
// that is cut off does not.
constexpr char kPlaybook[] =
    R"(# By `muster node reboot`: one reboot of each node, and nothing else.
- play: reboot
  hosts: compute
  tasks:
    - name: mark that lasts until the reboot
      file: {path: /run/muster-node-reboot, content: "muster node reboot\n", mode: "0600"}
      notify: reboot
  handlers:
    - name: reboot
      reboot: {when: always, reason: "{{ reboot_reason | default('muster node reboot') }}", timeout: 20m}
)";

}  // namespace

absl::string_view NodeRebootPlaybook() { return kPlaybook; }

v1::CreateRolloutRequest NodeRebootRequest(const std::string& nodes, const std::string& reason) {
  v1::CreateRolloutRequest request;
  request.set_limit(nodes);
  request.set_canary(0);
  request.set_max_unavailable("100%");
  request.set_playbook(std::string(kNodeRebootPath));
  if (!reason.empty())
    (*request.mutable_extra_vars())["reboot_reason"] = nlohmann::json(reason).dump();
  return request;
}

}  // namespace muster
