#include "controller/power/ipmi_fault.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "controller/inventory/bmc_access.h"
#include "controller/secret/secret_buffer.h"

namespace muster::controller::power {
namespace {

constexpr size_t kMaxUser = 16;      // of IPMI 2.0
constexpr size_t kMaxPassword = 20;  // likewise

}  // namespace

absl::Status CheckIpmiAccount(const BmcAccess& access, const SecretBuffer& password) {
  if (access.user.size() > kMaxUser)
    return absl::FailedPreconditionError(
        "IPMI knows users of up to 16 characters; bmc_user is longer");
  if (password.size() > kMaxPassword)
    return absl::FailedPreconditionError(
        "IPMI knows passwords of up to 20 characters, and this one is longer; set a shorter one");
  return absl::OkStatus();
}

std::string IpmiHost(const BmcAccess& access) {
  const bool is_ipv6 = absl::StrContains(access.address, ':');
  return absl::StrCat(is_ipv6 ? "[" : "", access.address, is_ipv6 ? "]" : "", ":", access.port);
}

}  // namespace muster::controller::power
