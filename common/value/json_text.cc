#include "common/value/json_text.h"

#include "common/base/text/utf8.h"

namespace muster {
namespace {

constexpr size_t kShownBytes = 80;  // of a value in an error

}  // namespace

absl::StatusOr<Value> ParseExtraVar(absl::string_view name, absl::string_view text) {
  absl::StatusOr<Value> value = ParseJson<Value>(text, kMaxValueDepth);
  if (value.ok()) return value;
  return absl::InvalidArgumentError(absl::StrCat("-e ", name, ": '", ValidUtf8(text, kShownBytes),
                                                 "' ", value.status().message()));
}

}  // namespace muster
