// password_hash: a password as crypt(5) stores it.
#include <crypt.h>
#include <string.h>

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/template/filters/filters.h"

namespace muster::tmpl {
namespace {

constexpr size_t kMaxSalt = 16;
constexpr size_t kMaxPassword = 511;  // CRYPT_MAX_PASSPHRASE_SIZE with the 0 at its end
// crypt(5)'s minimum and default; the maximum takes about 50 ms.
constexpr int64_t kMinRounds = 1'000;
constexpr int64_t kUsualRounds = 5'000;
constexpr int64_t kMaxRounds = 100'000;
// A round hashes the password once: half a microsecond, and as much again for each 64 bytes.
constexpr size_t kStepsPerRound = 5;

bool IsSaltCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '/';
}

absl::StatusOr<std::string> ReadSalt(const Call& call) {
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat(
      "filter 'password_hash' needs a salt that stays the same, so that a second apply "
      "changes nothing: 1 to ",
      kMaxSalt, " letters, digits, '.' and '/', such as ((cluster ~ '/ann') | hash)[:16]"));
  if (call.Arg(1) == nullptr || call.Arg(1)->is_null()) return wrong;
  const std::string salt = ToText(call.context, *call.Arg(1));
  if (salt.empty() || salt.size() > kMaxSalt ||
      !std::all_of(salt.begin(), salt.end(), IsSaltCharacter))
    return wrong;
  return salt;
}

}  // namespace

FilterResult PasswordHash(Call& call) {
  if (call.Arg(0) != nullptr && (!call.Arg(0)->is_string() || PeekText(*call.Arg(0)) != "sha512")) {
    return absl::InvalidArgumentError("filter 'password_hash' knows 'sha512' only");
  }
  if (call.Arg(2) != nullptr && !call.Arg(2)->is_null()) {
    return absl::InvalidArgumentError(
        "filter 'password_hash' uses the whole salt; remove the argument 'salt_size'");
  }
  ASSIGN_OR_RETURN(const std::string salt, ReadSalt(call));
  ASSIGN_OR_RETURN(const int64_t rounds, call.IntArg(3, kUsualRounds));
  if (rounds < kMinRounds || rounds > kMaxRounds) {
    return absl::InvalidArgumentError(absl::StrCat("filter 'password_hash' takes ", kMinRounds,
                                                   " to ", kMaxRounds, " rounds, not ", rounds));
  }
  std::string password = call.Input();
  if (password.size() > kMaxPassword || password.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "filter 'password_hash' takes a password of at most ", kMaxPassword, " bytes without a 0"));
  }
  const size_t blocks = 1 + password.size() / 64;
  if (!call.context.budget.Spend(static_cast<size_t>(rounds) * kStepsPerRound * blocks))
    return call.context.budget.status();
  const std::string setting =
      absl::StrCat("$6$", rounds == kUsualRounds ? "" : absl::StrCat("rounds=", rounds, "$"), salt);
  const auto work = std::make_unique<crypt_data>();
  const char* const hash = crypt_r(password.c_str(), setting.c_str(), work.get());
  // crypt_r() reports failure by null or by a text that begins with '*'.
  const std::string out = hash == nullptr ? "*" : hash;
  explicit_bzero(work.get(), sizeof *work);
  explicit_bzero(&password[0], password.size());
  if (out[0] == '*') return absl::InternalError("this system's crypt(3) makes no SHA-512 hashes");
  return NewValue(out);
}

}  // namespace muster::tmpl
