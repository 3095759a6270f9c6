// How the management controller of a node is reached: the variables that begin with bmc_.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

class Inventory;
struct Node;

enum class BmcProtocol { kRedfish, kIpmi };
absl::string_view BmcProtocolName(BmcProtocol protocol);  // "redfish", "ipmi"

// Everything but the password itself.
struct BmcAccess {
  BmcProtocol protocol = BmcProtocol::kRedfish;
  std::string address;  // IP address or host name
  uint16_t port = 443;
  std::string user;
  std::string password_secret;  // the name of the secret
  // Redfish. With a certificate that one and no other is trusted; otherwise those that `ca` (PEM;
  // "": the system's authorities) has signed for the address.
  std::string certificate;  // SHA-256 of its DER form, 64 hexadecimal digits; "": none was written
  std::string ca;
  bool is_verified = true;
  std::string system;  // the id of the machine behind a controller of several; "": there is one
  // How long a node may be away for a reboot before it is power cycled, once; nullopt: for ever.
  std::optional<absl::Duration> cycle_after;
  // IPMI.
  uint8_t cipher_suite = 17;
  bool has_console = false;  // it is read while the machine boots, and whenever somebody asks
};

// Describes the fault of a value ("must be redfish or ipmi"); "": it has none, or the variable is
// not one of these. Never shows the value of a variable that a password may have been put into.
std::string CheckBmcVariable(absl::string_view name, const nlohmann::ordered_json& value);

// FailedPrecondition: something is missing; the message names it and where to write it.
absl::StatusOr<BmcAccess> BmcAccessOf(const Inventory& inventory, const Node& node);

}  // namespace muster::controller
