// Texts from nodes and other people, made safe for a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Makes text from others safe: it must not control the terminal. The controller cleans what agents
// send, but not what it stored before it did, nor the names of files and bundles that people chose.
std::string Tame(absl::string_view text);

// On one line and cut to 1 KiB: words of nodes must neither control the terminal nor begin lines of
// their own.
std::string CleanLine(absl::string_view text);
// "-" for an empty text, as a table has it.
std::string CleanOrDash(absl::string_view text);

// Each line tamed, indented by `columns` blanks and ended by a newline.
std::string Indent(absl::string_view text, size_t columns = 4);

}  // namespace muster::cli
