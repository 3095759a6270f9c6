#include "common/base/text/user_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster {

absl::Status ValidateUserName(absl::string_view name) {
  const bool good = !name.empty() && name.size() <= 64 && absl::ascii_isalnum(name.front()) &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
                    });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("user name '", name.substr(0, 64),
                   "': expected 1 to 64 letters, digits, '-', '_' or '.', the first a letter or "
                   "digit"));
}

}  // namespace muster
