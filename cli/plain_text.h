// Texts of nodes, fit for a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// What a node printed must not steer the terminal. The controller cleans what agents say; this is
// for what it stored before it did.
std::string Tame(absl::string_view text);

// Each line tamed, behind `columns` blanks and with an end.
std::string Indent(absl::string_view text, size_t columns = 4);

}  // namespace muster::cli
