#include "common/base/text/disk_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/text/plain_text.h"

namespace muster {
namespace {

constexpr size_t kMostDigits = 64;

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= kMostDigits &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.' || c == ':';
         });
}

}  // namespace

std::string CheckDiskName(absl::string_view text) {
  absl::string_view rest = text;
  const bool is_numbered =
      absl::ConsumePrefix(&rest, kDiskBySerial) || absl::ConsumePrefix(&rest, kDiskByUuid);
  if (text == kBlankDisk || (is_numbered && IsNumber(rest))) return "";
  return absl::StrCat(
      "'", PlainText(text, Lines::kOne, kMostDigits),
      "' does not name a disk: write blank, the only disk that holds nothing, or "
      "serial: or uuid: and its number, as `lsblk -o NAME,SERIAL,PTUUID,UUID` shows "
      "it");
}

}  // namespace muster
