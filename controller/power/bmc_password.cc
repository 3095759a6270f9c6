#include "controller/power/bmc_password.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::power {
namespace {

// What `muster secret set --roles` has to name.
constexpr char kReader[] = "power";

}  // namespace

absl::StatusOr<SecretBuffer> ReadBmcPassword(SecretSource& secrets, const BmcAccess& access) {
  absl::StatusOr<std::string> password =
      secrets.Get(access.password_secret, std::nullopt, {kReader, ""});
  if (!password.ok())
    return Annotate(password.status(), absl::StrCat("secret ", access.password_secret));
  // As a file or an editor may have it.
  if (absl::EndsWith(*password, "\n")) password->pop_back();
  return SecretBuffer(*std::move(password));
}

}  // namespace muster::controller::power
