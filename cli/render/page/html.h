// Standalone pages: one file, no scripts, nothing fetched from anywhere.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::cli {

// Escapes `text` for use between tags and in quoted attributes; bytes that are not UTF-8 and
// control characters become U+FFFD.
std::string HtmlText(absl::string_view text);

// The whole page around `body`, which is HTML. Readable on paper, in light and in dark.
std::string HtmlPage(absl::string_view title, absl::string_view body);

// A heading of the second level, and a paragraph, of a class of the page or of none; texts are
// escaped.
std::string HtmlHeading(absl::string_view text);
std::string HtmlParagraph(absl::string_view text, absl::string_view style = "");

struct HtmlCell {
  std::string text;
  std::string style = {};  // a class of the page: "pass", "fail", "unknown", "number"
};

// A table with a header; texts are escaped.
std::string HtmlTable(const std::vector<std::string>& header,
                      const std::vector<std::vector<HtmlCell>>& rows);

}  // namespace muster::cli
