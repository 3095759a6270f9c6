// Texts that have to fit into columns of a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// `text` on one line of at most `columns`, each UTF-8 character counting as one. What is cut ends
// in "…", and never inside a number: "15 of 3" would be another one than "15 of 32".
std::string Shorten(absl::string_view text, size_t columns);

// The same for names, whose ends tell them apart: "…rack7-c0345".
std::string ShortenFront(absl::string_view text, size_t columns);

}  // namespace muster::cli
