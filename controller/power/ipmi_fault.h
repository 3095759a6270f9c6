// What goes wrong between the controller and a BMC that speaks IPMI, and what to do. FreeIPMI's
// libraries have numbers of their own for each.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace muster::controller {
struct BmcAccess;
class SecretBuffer;
}  // namespace muster::controller

namespace muster::controller::power {

struct IpmiFault {
  absl::StatusCode code;
  const char* text;
};

inline constexpr IpmiFault kUnknownUser = {
    absl::StatusCode::kUnauthenticated,
    "it does not know bmc_user, or does not let it in from the network"};
inline constexpr IpmiFault kWrongPassword = {
    absl::StatusCode::kUnauthenticated,
    "the password is wrong; set it anew by `muster secret set`"};
inline constexpr IpmiFault kNoAnswerToPassword = {
    absl::StatusCode::kUnauthenticated,
    "it does not answer the password, which is how some BMCs refuse a wrong one; check bmc_user, "
    "and set the password anew by `muster secret set`"};
inline constexpr IpmiFault kNoPrivilege = {
    absl::StatusCode::kFailedPrecondition,
    "bmc_user lacks the right: give it the privilege Operator in the BMC"};
inline constexpr IpmiFault kNoCipherSuite = {
    absl::StatusCode::kFailedPrecondition,
    "it does not take this cipher suite; set bmc_cipher_suite to 3, or allow 17 in the BMC"};
inline constexpr IpmiFault kNoIpmi2 = {
    absl::StatusCode::kFailedPrecondition,
    "it does not speak IPMI 2.0; turn on IPMI over LAN in the BMC"};
inline constexpr IpmiFault kUnknownAddress = {
    absl::StatusCode::kFailedPrecondition,
    "its address is not known; check bmc_address and the controller's resolver"};
inline constexpr IpmiFault kNoAnswer = {
    absl::StatusCode::kUnavailable,
    "it does not answer; check bmc_address, that IPMI over LAN is turned on in the BMC, and that "
    "the controller reaches the BMCs' network"};
inline constexpr IpmiFault kLost = {
    absl::StatusCode::kUnavailable,
    "it stopped answering; the BMC hangs, or the network lost its packets"};

// FailedPrecondition: the user or the password is longer than IPMI knows them.
absl::Status CheckIpmiAccount(const BmcAccess& access, const SecretBuffer& password);

// "10.1.0.3:623", "[fd00::3]:623".
std::string IpmiHost(const BmcAccess& access);

}  // namespace muster::controller::power
