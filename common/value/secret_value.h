// Secrets as values of their own type: a JSON binary with subtype 1.
//
// A secret keeps its type on its way through variables and templates, so any code that prints a
// value can redact it without knowing where it came from.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"

namespace muster {

// The type of variables, facts and template values everywhere in the controller.
using Value = nlohmann::ordered_json;

Value MakeSecret(absl::string_view bytes);
bool IsSecret(const Value& value);
// True when `value` is a secret or holds one at any depth.
bool ContainsSecret(const Value& value);
// The bytes of a secret. REQUIRES: IsSecret(value).
std::string SecretBytes(const Value& value);
// A copy in which every secret, at any depth, is the string "[secret]".
Value Redact(const Value& value);

}  // namespace muster
