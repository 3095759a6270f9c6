// Keys of playbooks: known ones, and those that people bring from other tools.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/errors.h"

namespace muster::controller::playbook {

// Reports each key of the map `node` that is not in `known`: with the remedy where the key is a
// word of another tool, otherwise with the nearest known key. Returns false when there was any.
bool CheckKeys(const yaml::Document& document, const yaml::Node& node, absl::string_view what,
               const std::vector<std::string>& known, ErrorList* errors);

// The variable that names the stack of a node; templates see the stack itself under this name.
inline constexpr char kStackVariable[] = "stack";

// The variables that Muster itself defines for templates.
const std::vector<std::string>& ReservedNames();
bool IsReserved(absl::string_view name);

// Describes what is wrong with the name of a variable; "" when nothing is.
std::string CheckVariable(absl::string_view name);
// The same for a variable of the command line, which may choose the stack.
std::string CheckGivenVariable(absl::string_view name);

}  // namespace muster::controller::playbook
