#include "controller/inventory/self_join.h"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "common/base/digest.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {
namespace {

constexpr char kBootJoin[] = "boot_join";
constexpr char kBootTpm[] = "boot_tpm";

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

}  // namespace

std::string CheckSelfJoinVariable(absl::string_view name, const nlohmann::ordered_json& value) {
  if (name == kBootJoin && !ModeOf(value).has_value())
    return "boot_join must be no, approve or tpm";
  if (name == kBootTpm && !(value.is_string() && IsSha256(value.get<std::string>())))
    return "boot_tpm must be the SHA-256 of the TPM's public endorsement key: 64 hexadecimal "
           "digits in lower case, as `muster node show` has them";
  return "";
}

SelfJoin SelfJoinOf(const Inventory& inventory, const Node& node) {
  SelfJoin found;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    if (variable.name == kBootJoin) found.mode = ModeOf(*variable.value).value_or(found.mode);
    if (variable.name == kBootTpm && variable.value->is_string())
      found.endorsement_key = variable.value->get<std::string>();
  }
  return found;
}

}  // namespace muster::controller
