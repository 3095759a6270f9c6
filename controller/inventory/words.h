// Keys of the inventory whose values are single words, as tables.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller {

template <typename Enum>
struct Word {
  absl::string_view text;
  Enum value;
};

// Returns "" and sets *out, or describes the fault.
template <typename Enum, size_t N>
std::string ParseWord(const Word<Enum> (&words)[N], absl::string_view what, absl::string_view text,
                      Enum* out) {
  std::vector<std::string> known;
  for (const Word<Enum>& word : words) {
    if (word.text == text) {
      *out = word.value;
      return "";
    }
    known.emplace_back(word.text);
  }
  return absl::StrCat("unknown ", what, " '", text, "'", DidYouMean(text, known),
                      " (known: ", absl::StrJoin(known, ", "), ")");
}

// The word of a value; "?" for one that the table lacks.
template <typename Enum, size_t N>
absl::string_view WordOf(const Word<Enum> (&words)[N], Enum value) {
  for (const Word<Enum>& word : words) {
    if (word.value == value) return word.text;
  }
  return "?";
}

}  // namespace muster::controller
