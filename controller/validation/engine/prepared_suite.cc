#include "controller/validation/engine/prepared_suite.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "controller/validation/schedule/witness.h"
#include "controller/validation/verdict/hardware_class.h"

namespace muster::controller::validation {
namespace {

constexpr absl::string_view kSuiteFolder = "playbooks/suites/";
constexpr absl::string_view kHardwareFolder = "inventory/hardware/";
constexpr absl::string_view kExtension = ".yaml";

absl::Status NoSuchSuite(const std::map<std::string, std::string>& site, absl::string_view name) {
  std::vector<std::string> names;
  for (const auto& [path, text] : site) {
    absl::string_view rest = path;
    if (absl::ConsumePrefix(&rest, kSuiteFolder) && absl::ConsumeSuffix(&rest, kExtension)) {
      names.emplace_back(rest);
    }
  }
  return absl::NotFoundError(
      absl::StrCat("no suite '", name, "' in ", kSuiteFolder, DidYouMean(name, names)));
}

// Sets `found` to the hardware that was found on it.
ValidationNode MakeNode(const Inventory& inventory, const Node& node, const HardwareClass& expected,
                        const std::map<std::string, EnrolledNode>& enrolled, FoundHardware& found) {
  ValidationNode made;
  made.name = node.name;
  made.rack = node.rack;
  if (const Rack* rack = inventory.FindRack(node.rack)) made.switch_name = rack->switch_name;
  if (const auto it = enrolled.find(node.name); it != enrolled.end()) {
    made.uuid = it->second.uuid;
    found = it->second.found;
  }
  made.traits = TraitsOf(expected, found);
  return made;
}

// The nodes that are not under test. A node with wrong variables cannot be a partner: that is
// reported when it is validated itself.
std::vector<ValidationNode> OtherComputeNodes(const Inventory& inventory,
                                              const PreparedSuite& prepared,
                                              const std::map<std::string, EnrolledNode>& enrolled) {
  std::vector<ValidationNode> others;
  for (const Node& node : inventory.nodes()) {
    if (node.role != NodeRole::kCompute || prepared.expectations.count(node.name) > 0) continue;
    const absl::StatusOr<HardwareClass> expected = ReadHardwareClass(inventory, node);
    if (!expected.ok()) continue;
    FoundHardware found;
    others.push_back(MakeNode(inventory, node, *expected, enrolled, found));
    // Nobody has looked, but without a network it could not have joined.
    if (others.back().uuid.empty()) others.back().traits.nics = true;
  }
  return others;
}

}  // namespace

absl::StatusOr<PreparedSuite> PrepareSuite(const std::map<std::string, std::string>& site,
                                           absl::string_view suite_name,
                                           absl::string_view node_selector,
                                           std::shared_ptr<const Inventory> inventory,
                                           const std::map<std::string, EnrolledNode>& enrolled,
                                           Catalog catalog) {
  PreparedSuite prepared;
  const std::string path = absl::StrCat(kSuiteFolder, suite_name, kExtension);
  const auto text = site.find(path);
  if (text == site.end()) return NoSuchSuite(site, suite_name);
  ASSIGN_OR_RETURN(prepared.suite, ParseSuite(path, text->second, catalog));
  std::string all = absl::StrCat(path, "\n", text->second);
  std::map<std::string, std::string> hardware;
  for (const auto& [name, content] : site) {
    if (!absl::StartsWith(name, kHardwareFolder) || !absl::EndsWith(name, kExtension)) continue;
    hardware[name] = content;
    absl::StrAppend(&all, std::string(1, '\0'), name, "\n", content);
  }
  prepared.digest = Sha256Hex(all);
  ASSIGN_OR_RETURN(HardwareLibrary library, ParseHardware(hardware, catalog));
  prepared.hardware = std::make_shared<const HardwareLibrary>(std::move(library));

  ASSIGN_OR_RETURN(const std::vector<const Node*> selected, Select(*inventory, node_selector));
  if (selected.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("'", node_selector, "' matches no node"));
  }
  std::vector<std::string> names;
  const auto add = [&](const Node& node) -> absl::Status {
    names.push_back(node.name);
    ASSIGN_OR_RETURN(HardwareClass expected, ReadHardwareClass(*inventory, node));
    FoundHardware& found = prepared.found[node.name];
    ValidationNode& made = prepared.nodes.emplace_back();
    made = MakeNode(*inventory, node, expected, enrolled, found);
    made.power = PowerOf(expected, found, *prepared.hardware);
    prepared.expectations[node.name] = MakeExpectation(std::move(expected), *prepared.hardware);
    return absl::OkStatus();
  };
  for (const Node* node : selected) RETURN_IF_ERROR(add(*node));
  if (IsAnyAlone(prepared.nodes, prepared.suite)) {
    prepared.witnesses = FindWitnesses(
        prepared.nodes, OtherComputeNodes(*inventory, prepared, enrolled), prepared.suite);
  }
  for (const ValidationNode& witness : prepared.witnesses) {
    if (!enrolled.at(witness.name).is_witness) continue;
    RETURN_IF_ERROR(add(*inventory->FindNode(witness.name)));
    prepared.nodes.back().is_witness = true;
  }
  std::map<std::string, FoundHardware> found;
  for (const auto& [name, node] : enrolled) found[name] = node.found;
  ASSIGN_OR_RETURN(prepared.racks, RackPowers(*inventory, names, *prepared.hardware, found));
  prepared.inventory = std::move(inventory);
  return prepared;
}

std::vector<MatrixNode> MatrixNodesOf(const PreparedSuite& prepared) {
  std::map<std::string, double> uplinks;  // by switch
  for (const Rack& rack : prepared.inventory->racks()) {
    if (rack.uplink_gbits_per_s > 0) uplinks[rack.switch_name] = rack.uplink_gbits_per_s;
  }
  std::vector<MatrixNode> nodes;
  for (const ValidationNode& node : prepared.nodes) {
    const HardwareClass& hardware = prepared.expectations.at(node.name).hardware;
    const auto uplink = uplinks.find(node.switch_name);
    nodes.push_back({node.name, node.switch_name, hardware.network_gbits_per_s.value_or(0),
                     uplink == uplinks.end() ? 0 : uplink->second,
                     hardware.infiniband_rate.has_value() ? hardware.Name() : "",
                     hardware.network_interfaces});
  }
  return nodes;
}

}  // namespace muster::controller::validation
