#include "controller/enrollment/name_rules.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxDescriptionBytes = 256;

bool HasOnly(absl::string_view name, absl::string_view punctuation) {
  return absl::ascii_isalnum(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) {
           return absl::ascii_isalnum(c) ||
                  punctuation.find(static_cast<char>(c)) != absl::string_view::npos;
         });
}

}  // namespace

absl::Status ValidateNodeName(absl::string_view name) {
  if (!name.empty() && name.size() <= 63 && HasOnly(name, "-.")) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a node's name has 1 to 63 letters, digits, '-' or '.', and begins with a letter or digit");
}

std::string CleanDescription(absl::string_view text) {
  std::string clean(text.substr(0, kMaxDescriptionBytes));
  for (char& c : clean) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return clean;
}

}  // namespace muster::controller
