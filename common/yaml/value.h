// Converts the tree to the values that templates and variables are made of.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "absl/strings/string_view.h"
#include "common/yaml/node.h"

namespace muster::yaml {

// Types plain scalars by the core schema of YAML 1.2: null, true, false, whole numbers (decimal,
// 0x, 0o), floats; everything quoted is a string. Plain text stays a string where a number would
// lose something: a leading zero (0400), more digits than 64 bits hold, .inf, .nan.
nlohmann::ordered_json ToValue(const Node& node);

// The value that `text` would have as a plain scalar; for values given on a command line.
nlohmann::ordered_json PlainValue(absl::string_view text);

}  // namespace muster::yaml
