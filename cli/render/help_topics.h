// The pages of docs/ as `muster help` shows them. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// A page of docs/, built into the program.
struct HelpPage {
  const char* name;     // "playbook"
  const char* summary;  // a line for the list of topics
  const char* text;     // Markdown
};
extern const HelpPage kHelpPages[];
extern const size_t kHelpPageCount;

// The names of pages and, in lower case, of their sections, as FindHelp() takes them.
std::vector<std::string> HelpTopics();

// The pages with their summaries, and the sections whose names have one word.
std::string ListHelp();

// The page of that name, or every section with that heading and the page that it is from. Upper and
// lower case are the same. NotFound names the nearest topic.
absl::StatusOr<std::string> FindHelp(absl::string_view topic);

// Markdown as plain text for a terminal: headings in capitals, links and emphasis as their text,
// code indented.
std::string PlainText(absl::string_view markdown);

}  // namespace muster::cli
