// JSON that comes from elsewhere. The parser itself has no limit on nesting, but whatever copies or
// writes a value recurses, and a few hundred thousand brackets would use up its stack.
#pragma once

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"

namespace muster {

// Values nested deeper than this are refused, so that recursion over them is bounded.
inline constexpr int kMaxValueDepth = 100;

// InvalidArgument: the text is not JSON, or has more than `max_depth` lists and objects within each
// other; the message goes after the text or its name.
template <typename Json>
absl::StatusOr<Json> ParseJson(absl::string_view text, int max_depth) {
  bool is_deep = false;
  const auto limit_depth = [&](int depth, typename Json::parse_event_t event, Json&) {
    const bool opens =
        event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    is_deep = is_deep || (opens && depth >= max_depth);
    return !is_deep;
  };
  Json value = Json::parse(text.begin(), text.end(), limit_depth, /*allow_exceptions=*/false);
  if (is_deep) {
    return absl::InvalidArgumentError(absl::StrCat("is nested deeper than ", max_depth, " levels"));
  }
  if (value.is_discarded()) return absl::InvalidArgumentError("is not JSON; a string needs quotes");
  return value;
}

// The value of `-e name=…`. InvalidArgument names the variable.
absl::StatusOr<Value> ParseExtraVar(absl::string_view name, absl::string_view text);

}  // namespace muster
