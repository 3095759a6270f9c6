// Texts of nodes and of other people, fit for a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// What others wrote must not steer the terminal: the controller cleans what agents say, but not
// what it stored before it did, nor the names of files and bundles that people chose.
std::string Tame(absl::string_view text);

// Each line tamed, behind `columns` blanks and with an end.
std::string Indent(absl::string_view text, size_t columns = 4);

}  // namespace muster::cli
