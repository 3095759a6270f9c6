#include "controller/power/own_machine.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "controller/inventory/inventory.h"
#include "controller/store/tables.h"

namespace muster::controller::power {
namespace {

// systemd writes it without hyphens, the kernel with them.
std::string PlainId(absl::string_view boot_id) { return absl::StrReplaceAll(boot_id, {{"-", ""}}); }

// Names have no case, and an IPv6 address has brackets before a port.
std::string PlainName(absl::string_view name) {
  if (absl::ConsumePrefix(&name, "[")) absl::ConsumeSuffix(&name, "]");
  return absl::AsciiStrToLower(name);
}

bool HasOwnName(const OwnMachine& own, const Node& node) {
  return own.names.count(PlainName(node.name)) > 0 || own.names.count(PlainName(node.address)) > 0;
}

}  // namespace

std::set<std::string> OwnNames(absl::string_view host_name, absl::string_view controller_host) {
  std::set<std::string> names = {PlainName(host_name),
                                 PlainName(host_name.substr(0, host_name.find('.'))),
                                 PlainName(controller_host)};
  names.erase("");
  return names;
}

bool IsOnOwnMachine(const OwnMachine& own, const Inventory& inventory, const Node& node,
                    absl::string_view boot_id) {
  if (HasOwnName(own, node)) return true;
  if (own.boot_id.empty() || PlainId(own.boot_id) != PlainId(boot_id)) return false;
  return std::none_of(inventory.nodes().begin(), inventory.nodes().end(),
                      [&](const Node& other) { return HasOwnName(own, other); });
}

absl::Status CheckNotOwnMachine(const OwnMachine& own, const Inventory& inventory,
                                const std::vector<const Node*>& nodes,
                                const std::vector<NodeRecord>& joined) {
  std::map<absl::string_view, absl::string_view> boots;
  for (const NodeRecord& record : joined)
    if (record.state != NodeRecord::kRemoved) boots[record.name] = record.boot_id;
  for (const Node* node : nodes) {
    const auto boot = boots.find(node->name);
    if (!IsOnOwnMachine(own, inventory, *node, boot == boots.end() ? "" : boot->second)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "'", node->name,
        "' is the controller's own machine: once off, it could switch on neither itself nor the "
        "others; leave it out; to restart it, run `systemctl reboot` on it, or use its BMC from "
        "another machine"));
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::power
