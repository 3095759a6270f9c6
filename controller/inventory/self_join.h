// Which machines may join without a person who gives them a token: the variables `boot_join`,
// `boot_tpm` and `boot_trusted_networks` of nodes.
#pragma once

#include <string>
#include <vector>

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
  // From which the node's MAC address is enough: "10.0.0.0/24".
  std::vector<std::string> trusted_networks;
};

// Describes the fault of a value; "": it has none, or the variable is none of them.
std::string CheckSelfJoinVariable(absl::string_view name, const nlohmann::ordered_json& value);

SelfJoin SelfJoinOf(const Inventory& inventory, const Node& node);

// All networks that some node or group trusts, sorted.
std::vector<std::string> TrustedNetworksOf(const Inventory& inventory);

}  // namespace muster::controller
