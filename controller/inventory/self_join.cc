#include "controller/inventory/self_join.h"

#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/text/ip_network.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

constexpr char kBootJoin[] = "boot_join";
constexpr char kBootTpm[] = "boot_tpm";
constexpr char kTrustedNetworks[] = "boot_trusted_networks";

constexpr std::pair<absl::string_view, SelfJoin::Mode> kModes[] = {
    {"no", SelfJoin::Mode::kNo},
    {"approve", SelfJoin::Mode::kApprove},
    {"tpm", SelfJoin::Mode::kTpm},
};

std::optional<SelfJoin::Mode> ModeOf(const nlohmann::ordered_json& value) {
  // YAML 1.1 has `no` for false.
  if (value.is_boolean() && !value.get<bool>()) return SelfJoin::Mode::kNo;
  if (!value.is_string()) return std::nullopt;
  for (const auto& [word, mode] : kModes)
    if (value.get<std::string>() == word) return mode;
  return std::nullopt;
}

// Describes the fault; "": none.
std::string CheckNetworks(const nlohmann::ordered_json& value) {
  if (!value.is_array())
    return absl::StrCat(kTrustedNetworks, " must be a list of networks such as [10.0.0.0/24]");
  for (const nlohmann::ordered_json& each : value) {
    if (!each.is_string())
      return absl::StrCat(kTrustedNetworks, " must be a list of networks such as [10.0.0.0/24]");
    if (const auto network = IpNetwork::Parse(each.get<std::string>()); !network.ok())
      return absl::StrCat(kTrustedNetworks, ": ", network.status().message());
  }
  return "";
}

// Those of a checked value.
std::vector<std::string> NetworksIn(const nlohmann::ordered_json& value) {
  std::vector<std::string> networks;
  if (!value.is_array()) return networks;
  for (const nlohmann::ordered_json& each : value)
    if (each.is_string()) networks.push_back(each.get<std::string>());
  return networks;
}

}  // namespace

std::string CheckSelfJoinVariable(absl::string_view name, const nlohmann::ordered_json& value) {
  if (name == kBootJoin && !ModeOf(value).has_value())
    return "boot_join must be no, approve or tpm";
  if (name == kBootTpm && !(value.is_string() && IsSha256(value.get<std::string>())))
    return "boot_tpm must be the SHA-256 of the TPM's public endorsement key: 64 hexadecimal "
           "digits in lower case, as `muster node show` has them";
  if (name == kTrustedNetworks) return CheckNetworks(value);
  return "";
}

SelfJoin SelfJoinOf(const Inventory& inventory, const Node& node) {
  SelfJoin found;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    if (variable.name == kBootJoin) found.mode = ModeOf(*variable.value).value_or(found.mode);
    if (variable.name == kBootTpm && variable.value->is_string())
      found.endorsement_key = variable.value->get<std::string>();
    if (variable.name == kTrustedNetworks) found.trusted_networks = NetworksIn(*variable.value);
  }
  return found;
}

std::vector<std::string> TrustedNetworksOf(const Inventory& inventory) {
  std::set<std::string> networks;
  const auto add = [&](const std::vector<Variable>& variables) {
    for (const Variable& variable : variables) {
      if (variable.name != kTrustedNetworks) continue;
      const std::vector<std::string> in = NetworksIn(*variable.value);
      networks.insert(in.begin(), in.end());
    }
  };
  add(inventory.vars());
  for (const Group& group : inventory.groups()) add(group.vars);
  for (const Node& node : inventory.nodes()) add(node.vars);
  return {networks.begin(), networks.end()};
}

}  // namespace muster::controller
