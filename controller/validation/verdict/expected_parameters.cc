#include "controller/validation/verdict/expected_parameters.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace muster::controller::validation {
namespace {

constexpr double kMbitsInGbit = 1000;
constexpr char kNicLink[] = "nic-link";
constexpr char kInterfaces[] = "interfaces";

// As a person would write it, without an exponent.
std::string Plain(double value) {
  std::string text = absl::StrFormat("%.6f", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}
std::string Plain(bool value) { return value ? "on" : "off"; }
std::string Plain(int value) { return absl::StrCat(value); }
std::string Plain(const std::string& value) { return value; }
std::string Plain(const std::vector<std::string>& values) { return absl::StrJoin(values, ","); }

template <typename T>
std::string Plain(const std::optional<T>& value) {
  return value.has_value() ? Plain(*value) : "";
}

// The ports that nic-link is to check; empty: all that have a link, of any speed.
std::vector<std::string> PortsOf(const HardwareClass& expected, const FoundHardware& found) {
  if (!expected.network_interfaces.empty()) return expected.network_interfaces;
  const bool says_more = expected.network_gbits_per_s.has_value() ||
                         expected.network_mtu.has_value() || expected.network_driver.has_value() ||
                         !expected.network_firmware.empty() || !expected.network_switches.empty();
  if (found.sole_port.empty() || !says_more) return {};
  return {found.sole_port};
}

struct Row {
  absl::string_view check;
  const char* parameter;
  std::string (*value)(const HardwareClass& expected, const FoundHardware& found);  // "": none
};

using Class = HardwareClass;
using Found = FoundHardware;

constexpr Row kRows[] = {
    {"gpu-inventory", "count", [](const Class& c, const Found&) { return Plain(c.gpu_count); }},
    {"gpu-inventory", "model", [](const Class& c, const Found&) { return Plain(c.gpu_model); }},
    {"gpu-inventory", "vbios", [](const Class& c, const Found&) { return Plain(c.gpu_vbios); }},
    {"gpu-inventory", "driver", [](const Class& c, const Found&) { return Plain(c.gpu_driver); }},
    {"gpu-inventory", "memory", [](const Class& c, const Found&) { return Plain(c.gpu_memory); }},
    {"gpu-inventory", "pcie-generation",
     [](const Class& c, const Found&) { return Plain(c.gpu_pcie_generation); }},
    {"gpu-inventory", "pcie-width",
     [](const Class& c, const Found&) { return Plain(c.gpu_pcie_width); }},
    {"gpu-inventory", "nvlinks", [](const Class& c, const Found&) { return Plain(c.gpu_nvlinks); }},
    {"gpu-inventory", "power-limit",
     [](const Class& c, const Found&) { return Plain(c.gpu_power_limit_watts); }},
    {"gpu-inventory", "ecc", [](const Class& c, const Found&) { return Plain(c.gpu_ecc); }},
    {"gpu-inventory", "persistence",
     [](const Class& c, const Found&) { return Plain(c.gpu_persistence); }},
    {kNicLink, kInterfaces, [](const Class& c, const Found& f) { return Plain(PortsOf(c, f)); }},
    {kNicLink, "speed",
     [](const Class& c, const Found& f) {
       if (PortsOf(c, f).empty() || !c.network_gbits_per_s.has_value()) return std::string();
       return Plain(*c.network_gbits_per_s * kMbitsInGbit);
     }},
    {kNicLink, "mtu",
     [](const Class& c, const Found& f) {
       return PortsOf(c, f).empty() ? std::string() : Plain(c.network_mtu);
     }},
    {"rdma-pair", "ports",
     [](const Class& c, const Found&) {
       return c.infiniband_ports > 0 ? absl::StrCat(c.infiniband_ports) : std::string();
     }},
    {kNicLink, "driver",
     [](const Class& c, const Found& f) {
       return PortsOf(c, f).empty() ? std::string() : Plain(c.network_driver);
     }},
    {kNicLink, "firmware",
     [](const Class& c, const Found& f) {
       return PortsOf(c, f).empty() ? std::string() : Plain(c.network_firmware);
     }},
    {kNicLink, "neighbors",
     [](const Class& c, const Found& f) {
       return PortsOf(c, f).empty() ? std::string() : Plain(c.network_switches);
     }},
    {"slurm-node", "count-gpus",
     [](const Class& c, const Found&) { return std::string(c.gpu_count == 0 ? "false" : ""); }},
    {"disk", "paths", [](const Class& c, const Found&) { return Plain(c.disk_paths); }},
    {"file-systems", "paths",
     [](const Class& c, const Found&) { return Plain(c.required_mounts); }},
};

}  // namespace

std::map<std::string, std::string> WithExpectedParameters(
    absl::string_view check, std::map<std::string, std::string> parameters,
    const HardwareClass& expected, const FoundHardware& found) {
  if (check == kNicLink && parameters.count(kInterfaces) > 0) return parameters;
  for (const Row& row : kRows) {
    if (row.check != check) continue;
    if (std::string value = row.value(expected, found); !value.empty()) {
      parameters.emplace(row.parameter, std::move(value));
    }
  }
  return parameters;
}

}  // namespace muster::controller::validation
