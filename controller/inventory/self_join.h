// Which machines may join without a person who gives them a token: the variables `boot_join` and
// `boot_tpm` of nodes.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"

namespace muster::controller {

class Inventory;
struct Node;

struct SelfJoin {
  enum class Mode {
    kNo,
    kApprove,  // after an administrator's approval: once of its TPM; without one, after each boot
    kTpm,      // as kApprove, but never without a TPM
  };
  Mode mode = Mode::kNo;
  // SHA-256 of the endorsement key that the machine has to have, which then needs no approval; "":
  // any.
  std::string endorsement_key;
};

// Describes the fault of a value; "": it has none, or the variable is neither of the two.
std::string CheckSelfJoinVariable(absl::string_view name, const nlohmann::ordered_json& value);

SelfJoin SelfJoinOf(const Inventory& inventory, const Node& node);

}  // namespace muster::controller
