// Fits texts into columns of a terminal.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster::cli {

// `text` on one line of at most `columns`, each UTF-8 character counting as one. Cut text ends in
// "…" and is never cut inside a number: "15 of 3" would be a different number from "15 of 32".
std::string Shorten(absl::string_view text, size_t columns);

// The same for names, which differ at their ends: "…rack7-c0345".
std::string ShortenFront(absl::string_view text, size_t columns);

}  // namespace muster::cli
