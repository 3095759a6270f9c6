#include "controller/validation/verdict/hardware_class.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/nearest_word.h"
#include "common/checks/parameter_value.h"

namespace muster::controller::validation {
namespace {

// Limits of values that the catalogue's parameters accept.
constexpr size_t kMaxClassText = 100;
constexpr size_t kMaxWords = 20;
constexpr size_t kMaxInterfaceName = 15;  // the kernel's IFNAMSIZ without its NUL
// Less cannot be a GPU's memory: the unit is missing.
constexpr double kLeastMemoryBytes = 1 << 20;

bool IsPlainPath(const std::string& path) {
  if (path.empty() || path.front() != '/' || path.size() > kMaxClassText) return false;
  if (path.find_first_of(", \t\n") != std::string::npos) return false;
  if (path.size() > 1 && path.back() == '/') return false;
  for (const absl::string_view part : absl::StrSplit(path.substr(1), '/')) {
    if (path != "/" && (part.empty() || part == "." || part == "..")) return false;
  }
  return true;
}

// Reads the variables that describe a node's hardware.
class VariableReader {
 public:
  VariableReader(const Inventory& inventory, const Node& node)
      : node_(node), variables_(VariablesOf(inventory, node)) {}

  void Text(absl::string_view name, std::optional<std::string>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    if (!variable->value->is_string() || variable->value->get<std::string>().empty() ||
        variable->value->get<std::string>().size() > kMaxClassText) {
      return Wrong(*variable, absl::StrCat("a text of up to ", kMaxClassText, " characters"));
    }
    *out = variable->value->get<std::string>();
  }

  void Number(absl::string_view name, double min, double max, std::optional<double>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    const double value =
        variable->value->is_number() ? variable->value->get<double>() : std::nan("");
    if (!(value >= min && value <= max)) {
      return Wrong(*variable, absl::StrCat("a number from ", min, " to ", max));
    }
    *out = value;
  }

  void Count(absl::string_view name, int min, int max, std::optional<int>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    const int64_t value =
        variable->value->is_number_integer() ? variable->value->get<int64_t>() : -1;
    if (value < min || value > max) {
      return Wrong(*variable, absl::StrCat("a whole number from ", min, " to ", max));
    }
    *out = static_cast<int>(value);
  }

  void Flag(absl::string_view name, std::optional<bool>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    if (!variable->value->is_boolean()) return Wrong(*variable, "true or false");
    *out = variable->value->get<bool>();
  }

  // "79GiB".
  void Size(absl::string_view name, std::optional<std::string>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    const std::string text =
        variable->value->is_string() ? variable->value->get<std::string>() : "";
    const absl::StatusOr<double> bytes = checks::ParseSize(text);
    if (!bytes.ok() || *bytes < kLeastMemoryBytes) {
      return Wrong(*variable, "a size with its unit, such as 79GiB");
    }
    *out = text;
  }

  // One or several words without blanks, commas and slashes.
  void Words(absl::string_view name, size_t max_size, std::vector<std::string>* out) {
    List(
        name,
        [max_size](const std::string& word) {
          return !word.empty() && word.size() <= max_size &&
                 word.find_first_of(", \t\n/") == std::string::npos;
        },
        absl::StrCat("a word or a list of up to ", kMaxWords, " words, of up to ", max_size,
                     " characters without blanks, commas and slashes"),
        out);
  }

  // One or several texts, which may contain blanks.
  void Texts(absl::string_view name, std::vector<std::string>* out) {
    List(
        name,
        [](const std::string& text) {
          return !text.empty() && text.size() <= kMaxClassText && text.front() != ' ' &&
                 text.back() != ' ' && text.find_first_of(",\t\n") == std::string::npos;
        },
        absl::StrCat("a text or a list of up to ", kMaxWords, " texts, of up to ", kMaxClassText,
                     " characters without commas and without blanks at their ends"),
        out);
  }

  // One or several absolute paths, as the kernel lists mount points.
  void Paths(absl::string_view name, std::vector<std::string>* out) {
    List(name, IsPlainPath,
         absl::StrCat("an absolute path or a list of up to ", kMaxWords, ", of up to ",
                      kMaxClassText,
                      " characters without blanks, commas, '..', '//' and a slash at the end"),
         out);
  }

  // The effective one; nullptr: not given.
  const Variable* Find(absl::string_view name) const {
    const Variable* found = nullptr;
    for (const Variable& variable : variables_) {
      if (variable.name == name) found = &variable;
    }
    return found;
  }

  absl::Status ToStatus() const {
    if (errors_.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
  }

 private:
  template <typename Predicate>
  void List(absl::string_view name, const Predicate& is_good, absl::string_view expected,
            std::vector<std::string>* out) {
    const Variable* const variable = Find(name);
    if (variable == nullptr) return;
    std::vector<std::string> words;
    bool good = variable->value->is_string() ||
                (variable->value->is_array() && variable->value->size() <= kMaxWords);
    const auto add = [&](const auto& value) {
      words.push_back(value.is_string() ? value.template get<std::string>() : "");
      good = good && is_good(words.back());
    };
    if (variable->value->is_array()) {
      for (const auto& value : *variable->value) add(value);
    } else {
      add(*variable->value);
    }
    if (!good || words.empty()) return Wrong(*variable, expected);
    *out = std::move(words);
  }

  void Wrong(const Variable& variable, absl::string_view expected) {
    std::string value =
        variable.value->dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    if (value.size() > 60) value = absl::StrCat(value.substr(0, 60), "…");
    errors_.push_back(absl::StrCat(variable.place.ToString(), ": ", variable.name, " of node ",
                                   node_.name, " is ", expected, ", not ", value));
  }

  const Node& node_;
  const std::vector<Variable> variables_;
  std::vector<std::string> errors_;
};

std::string WithoutTrailingStar(absl::string_view pattern) {
  return std::string(pattern.substr(0, pattern.find('*')));
}

}  // namespace

std::string HardwareClass::Name() const {
  std::vector<std::string> parts;
  if (node_model.has_value()) parts.push_back(*node_model);
  if (gpu_count.has_value() || gpu_model.has_value()) {
    parts.push_back(absl::StrCat(gpu_count.has_value() ? absl::StrCat(*gpu_count) : "?", " × ",
                                 gpu_model.value_or("GPU")));
  }
  if (std::string port = Port(); !port.empty()) parts.push_back(std::move(port));
  return parts.empty() ? "unknown" : absl::StrJoin(parts, ", ");
}

std::string HardwareClass::Port() const {
  if (infiniband_rate.has_value()) return absl::StrCat("infiniband ", *infiniband_rate);
  return network_gbits_per_s.has_value() ? PortName("ethernet", *network_gbits_per_s) : "";
}

absl::StatusOr<HardwareClass> ReadHardwareClass(const Inventory& inventory, const Node& node) {
  VariableReader reader(inventory, node);
  HardwareClass read;
  reader.Text("gpu_model", &read.gpu_model);
  reader.Count("gpu_count", 0, 1024, &read.gpu_count);
  reader.Words("gpu_vbios", kMaxClassText, &read.gpu_vbios);
  reader.Text("gpu_driver", &read.gpu_driver);
  reader.Size("gpu_memory", &read.gpu_memory);
  reader.Count("gpu_pcie_generation", 1, 16, &read.gpu_pcie_generation);
  reader.Count("gpu_pcie_width", 1, 32, &read.gpu_pcie_width);
  reader.Count("gpu_nvlinks", 0, 64, &read.gpu_nvlinks);
  reader.Number("gpu_power_limit_watts", 10, 10'000, &read.gpu_power_limit_watts);
  reader.Flag("gpu_ecc", &read.gpu_ecc);
  reader.Flag("gpu_persistence", &read.gpu_persistence);
  reader.Number("gpu_temperature_limit_celsius", 40, 120, &read.gpu_temperature_limit_celsius);
  reader.Number("node_power_watts", 10, 100'000, &read.node_power_watts);
  reader.Number("node_idle_watts", 1, 100'000, &read.node_idle_watts);
  reader.Number("network_gbits_per_s", 0.01, 10'000, &read.network_gbits_per_s);
  reader.Count("network_mtu", 68, 65'536, &read.network_mtu);
  reader.Words("network_interfaces", kMaxInterfaceName, &read.network_interfaces);
  reader.Text("network_driver", &read.network_driver);
  reader.Texts("network_firmware", &read.network_firmware);
  reader.Words("network_switches", kMaxClassText, &read.network_switches);
  reader.Text("node_model", &read.node_model);
  reader.Text("infiniband_rate", &read.infiniband_rate);
  reader.Paths("required_mounts", &read.required_mounts);
  reader.Paths("disk_paths", &read.disk_paths);
  std::optional<int> ports;
  reader.Count("infiniband_ports", 0, 64, &ports);
  RETURN_IF_ERROR(reader.ToStatus());
  if (const Rack* rack = inventory.FindRack(node.rack);
      read.network_switches.empty() && rack != nullptr && !rack->switch_name.empty()) {
    read.network_switches = {rack->switch_name};
  }
  read.infiniband_ports = ports.value_or(read.infiniband_rate.has_value() ? 1 : 0);
  if (const Variable* limit = reader.Find("gpu_temperature_limit_celsius"); limit != nullptr) {
    read.gpu_temperature_source = absl::StrCat(limit->place.ToString(), ", ", limit->name);
  }
  return read;
}

NodeTraits TraitsOf(const HardwareClass& expected, const FoundHardware& found) {
  NodeTraits traits;
  // A card without a driver is a GPU that does not work, unless the inventory says how many there
  // are. 0 is for cards that nobody is to use, whether or not they have a driver.
  const int wanted = expected.gpu_count.value_or(
      std::max(found.gpu_cards, expected.gpu_model.has_value() ? 1 : 0));
  traits.gpus = expected.gpu_count == 0 ? 0 : std::max(wanted, found.gpus);
  traits.nics = found.nics || !expected.Port().empty();
  traits.rdma = found.rdma || expected.infiniband_ports > 0;
  traits.machine = !found.container;
  traits.mounts = !expected.required_mounts.empty();
  traits.disks = !expected.disk_paths.empty();
  return traits;
}

NodePower PowerOf(const HardwareClass& expected, const FoundHardware& found,
                  const HardwareLibrary& library) {
  NodePowerFacts facts;
  facts.full_watts = expected.node_power_watts;
  facts.idle_watts = expected.node_idle_watts;
  facts.gpu_limits = found.gpu_power_limits;
  const HardwareModel* const model =
      expected.gpu_model.has_value() ? library.Find("gpu", *expected.gpu_model) : nullptr;
  std::optional<double> limit = expected.gpu_power_limit_watts;
  if (!limit.has_value() && model != nullptr && model->power_watts.has_value()) {
    limit = model->power_watts->value;
  }
  if (facts.gpu_limits.empty() && limit.has_value()) {
    const int of_model = expected.gpu_count.value_or(expected.gpu_model.has_value() ? 1 : 0);
    facts.gpu_limits.assign(static_cast<size_t>(std::max(of_model, found.gpus)), *limit);
  }
  if (model != nullptr && model->power_watts && model->node_watts_per_gpu) {
    const double rest = model->node_watts_per_gpu->value - model->power_watts->value;
    facts.rest_watts =
        std::max(facts.rest_watts, static_cast<double>(facts.gpu_limits.size()) * rest);
  }
  return PredictPower(facts);
}

absl::StatusOr<std::vector<RackPower>> RackPowers(
    const Inventory& inventory, const std::vector<std::string>& tested,
    const HardwareLibrary& library, const std::map<std::string, FoundHardware>& found) {
  const absl::flat_hash_set<std::string> are_tested(tested.begin(), tested.end());
  std::vector<RackPower> racks;
  for (const Rack& rack : inventory.racks()) {
    if (rack.power_limit_watts == 0) continue;
    RackPower& power = racks.emplace_back();
    power.name = rack.name;
    power.limit_watts = rack.power_limit_watts;
    for (const std::string& name : rack.nodes) {
      if (are_tested.count(name) > 0) continue;
      ASSIGN_OR_RETURN(const HardwareClass expected,
                       ReadHardwareClass(inventory, *inventory.FindNode(name)));
      const auto looked_at = found.find(name);
      power.others_watts +=
          PowerOf(expected, looked_at == found.end() ? FoundHardware() : looked_at->second, library)
              .full;
    }
  }
  return racks;
}

std::vector<std::string> CheckHardwareOf(
    const Inventory& inventory, const HardwareLibrary& library,
    const std::map<std::string, std::set<std::string>>& found_gpus) {
  std::vector<std::string> found;
  std::set<std::string> errors;  // a group's variable is reported once, not for each node
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> unknown;
  std::vector<std::string> estimated;
  for (const Node& node : inventory.nodes()) {
    const absl::StatusOr<HardwareClass> expected = ReadHardwareClass(inventory, node);
    if (!expected.ok()) {
      std::string message(expected.status().message());
      if (errors.insert(message.substr(0, message.find(" of node "))).second) {
        found.push_back(std::move(message));
      }
      continue;
    }
    std::set<std::string> gpus;
    if (expected->gpu_model.has_value()) {
      gpus = {*expected->gpu_model};
    } else if (const auto names = found_gpus.find(node.name);
               names != found_gpus.end() && expected->gpu_count != 0) {
      gpus = names->second;
    }
    for (const std::string& gpu : gpus) {
      if (library.Find("gpu", gpu) == nullptr) unknown[{"gpu", gpu}].push_back(node.name);
    }
    if (const std::string port = expected->Port();
        !port.empty() && library.Find("nic", port) == nullptr) {
      unknown[{"nic", port}].push_back(node.name);
    }
    const Rack* const rack = inventory.FindRack(node.rack);
    if (rack != nullptr && rack->power_limit_watts > 0 && expected->gpu_model &&
        expected->gpu_count != 0 && !expected->node_power_watts) {
      estimated.push_back(node.name);
    }
  }
  for (const auto& [what, nodes] : unknown) {
    std::vector<std::string> known;
    for (const HardwareModel& model : library.models()) {
      if (model.kind != what.first) continue;
      for (const std::string& pattern : model.match) known.push_back(WithoutTrailingStar(pattern));
    }
    found.push_back(absl::StrCat("no file in inventory/hardware matches ", what.first, " '",
                                 what.second, "' of ", FoldHostlist(nodes),
                                 DidYouMean(what.second, known),
                                 ": compared only with its peers and its own history"));
  }
  if (!estimated.empty()) {
    found.push_back(absl::StrCat(
        FoldHostlist(estimated),
        ": no node_power_watts, so their rack's power_limit_watts is checked against an estimate; "
        "set node_power_watts (draw at full load) and node_idle_watts"));
  }
  return found;
}

}  // namespace muster::controller::validation
