#include "controller/inventory/bmc_access.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/words.h"

namespace muster::controller {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxUser = 64;
constexpr size_t kMaxSystem = 64;
constexpr size_t kMaxCa = 64 << 10;
constexpr uint16_t kRedfishPort = 443;
constexpr uint16_t kIpmiPort = 623;
constexpr absl::Duration kShortestCycle = absl::Minutes(2);
constexpr absl::Duration kLongestCycle = absl::Hours(24);

constexpr Word<BmcProtocol> kProtocols[] = {{"redfish", BmcProtocol::kRedfish},
                                            {"ipmi", BmcProtocol::kIpmi}};

bool IsMadeOf(absl::string_view text, absl::string_view others, size_t limit) {
  return !text.empty() && text.size() <= limit &&
         std::all_of(text.begin(), text.end(), [&](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  absl::StrContains(others, c);
         });
}

std::string TextOf(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The 64 digits of "sha256:…", as `openssl x509 -fingerprint -sha256` writes them or without
// colons.
std::optional<std::string> Fingerprint(const Json& value) {
  const std::string text = TextOf(value);
  absl::string_view digits = text;
  if (!absl::ConsumePrefix(&digits, "sha256:")) return std::nullopt;
  std::string hex = absl::AsciiStrToLower(absl::StrReplaceAll(digits, {{":", ""}}));
  const bool is_hex = hex.size() == 64 && std::all_of(hex.begin(), hex.end(), [](char c) {
                        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
                      });
  if (!is_hex) return std::nullopt;
  return hex;
}

bool SetProtocol(const Json& value, BmcAccess& access) {
  return ParseWord(kProtocols, "bmc_protocol", TextOf(value), &access.protocol).empty();
}
bool SetPort(const Json& value, BmcAccess& access) {
  if (!value.is_number_integer() || value < 1 || value > 65535) return false;
  access.port = value.get<uint16_t>();
  return true;
}
bool SetUser(const Json& value, BmcAccess& access) {
  access.user = TextOf(value);
  return IsMadeOf(access.user, "_-.@", kMaxUser);
}
bool SetPasswordSecret(const Json& value, BmcAccess& access) {
  access.password_secret = TextOf(value);
  return IsMadeOf(access.password_secret, "_-.", 128);
}
bool SetCertificate(const Json& value, BmcAccess& access) {
  const std::optional<std::string> fingerprint = Fingerprint(value);
  access.certificate = fingerprint.value_or("");
  return fingerprint.has_value();
}
bool SetCa(const Json& value, BmcAccess& access) {
  access.ca = TextOf(value);
  return access.ca.size() <= kMaxCa && absl::StrContains(access.ca, "-----BEGIN CERTIFICATE-----");
}
bool SetVerification(const Json& value, BmcAccess& access) {
  access.is_verified = TextOf(value) != "none";
  return value == "none" || value == "certificate";
}
bool SetSystem(const Json& value, BmcAccess& access) {
  access.system = TextOf(value);
  return IsMadeOf(access.system, "_-.", kMaxSystem);
}
bool SetCycleAfter(const Json& value, BmcAccess& access) {
  absl::Duration after;
  if (!absl::ParseDuration(TextOf(value), &after) || after < kShortestCycle ||
      after > kLongestCycle)
    return false;
  access.cycle_after = after;
  return true;
}
bool SetCipherSuite(const Json& value, BmcAccess& access) {
  if (value != 3 && value != 17) return false;
  access.cipher_suite = value.get<uint8_t>();
  return true;
}

bool SetConsole(const Json& value, BmcAccess& access) {
  access.has_console = value == true;
  return value.is_boolean();
}

struct Row {
  absl::string_view name;
  bool (*set)(const Json& value, BmcAccess& access);
  absl::string_view expected;
  std::optional<BmcProtocol> of;  // nullopt: of either protocol
};
constexpr Row kRows[] = {
    {"bmc_protocol", &SetProtocol, "must be redfish or ipmi", std::nullopt},
    {"bmc_port", &SetPort, "must be a port, 1 to 65535", std::nullopt},
    {"bmc_user", &SetUser, "must be a name of up to 64 letters, digits and _-.@", std::nullopt},
    {"bmc_password_secret", &SetPasswordSecret,
     "must be the name under which `muster secret set` has the password", std::nullopt},
    {"bmc_certificate", &SetCertificate,
     "must be sha256: and the 64 hexadecimal digits of the certificate's SHA-256 fingerprint",
     BmcProtocol::kRedfish},
    {"bmc_ca", &SetCa, "must be a certificate in PEM; write the file's contents below `bmc_ca: |`",
     BmcProtocol::kRedfish},
    {"bmc_verify", &SetVerification, "must be certificate or none", BmcProtocol::kRedfish},
    {"bmc_system", &SetSystem,
     "must be the id of a system of the BMC: up to 64 letters, digits and _-.",
     BmcProtocol::kRedfish},
    {"bmc_cycle_after", &SetCycleAfter, "must be a time from 2m to 24h, such as \"15m\"",
     std::nullopt},
    {"bmc_cipher_suite", &SetCipherSuite, "must be 17 or 3", BmcProtocol::kIpmi},
    {"bmc_console", &SetConsole, "must be true or false", BmcProtocol::kIpmi},
};

const Row* RowOf(absl::string_view name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& each) { return each.name == name; });
  return row == std::end(kRows) ? nullptr : row;
}

absl::Status Missing(const Node& node, absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the inventory does not say ", what, "; see docs/power.md (node ", node.name,
                   node.place.line > 0 ? absl::StrCat(", ", node.place.ToString()) : "", ")"));
}

}  // namespace

absl::string_view BmcProtocolName(BmcProtocol protocol) { return WordOf(kProtocols, protocol); }

std::string CheckBmcVariable(absl::string_view name, const Json& value) {
  const Row* const row = RowOf(name);
  BmcAccess scratch;
  if (row == nullptr || row->set(value, scratch)) return "";
  return absl::StrCat(name, " ", row->expected);
}

absl::StatusOr<BmcAccess> BmcAccessOf(const Inventory& inventory, const Node& node) {
  BmcAccess access;
  bool has_protocol = false, has_port = false;
  for (const Variable& variable : VariablesOf(inventory, node)) {  // a later one wins
    const Row* const row = RowOf(variable.name);
    if (row == nullptr) continue;
    if (!row->set(*variable.value, access))
      return absl::FailedPreconditionError(
          absl::StrCat(variable.place.ToString(), ": ", variable.name, " ", row->expected));
    has_protocol = has_protocol || row->set == &SetProtocol;
    has_port = has_port || row->set == &SetPort;
  }
  access.address = node.bmc_address;
  if (access.address.empty()) return Missing(node, "where its BMC is: write its bmc_address");
  if (!has_protocol)
    return Missing(node,
                   "how its BMC is spoken to: set the variable bmc_protocol to redfish or ipmi");
  if (access.user.empty() || access.password_secret.empty())
    return Missing(node,
                   "as whom its BMC is used: set the variables bmc_user and bmc_password_secret");
  if (!has_port) access.port = access.protocol == BmcProtocol::kIpmi ? kIpmiPort : kRedfishPort;
  return access;
}

}  // namespace muster::controller
