// Errors for the words of Jinja2 and Ansible that Muster's subset omits.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::tmpl {

enum class WordKind { kStatement, kFilter, kTest, kFunction, kVariable };

// "; use to_nice_yaml" for a known omission, "" for any other word. Only the last part of
// "ansible.utils.ipaddr" counts.
std::string Instead(WordKind kind, absl::string_view word);
// "unknown filter 'x' in Muster's subset of Jinja2", with the remedy or the nearest of `known`.
// REQUIRES: a filter, a test or a function.
std::string UnknownWord(WordKind kind, absl::string_view word,
                        const std::vector<std::string>& known);

}  // namespace muster::tmpl
