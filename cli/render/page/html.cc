#include "cli/render/page/html.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";

// The eight colors of a plot's series are distinguishable with any kind of color vision (Okabe
// and Ito, "Color Universal Design", 2008), lightened for the dark page.
constexpr absl::string_view kStyle = R"css(
:root {
  --page: #ffffff; --text: #1b1f24; --quiet: #59636e; --line: #d1d9e0; --grid: #e8ecf0;
  --pass: #1a7f37; --fail: #c7372f; --unknown: #9a6700; --none: #d1d9e0;
  --series-0: #0072b2; --series-1: #d55e00; --series-2: #009e73; --series-3: #cc79a7;
  --series-4: #b07d00; --series-5: #56b4e9; --series-6: #6b4fbb; --series-7: #6e7781;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181d; --text: #e3e8ed; --quiet: #9aa5b1; --line: #3a434d; --grid: #262d35;
    --pass: #4cb86b; --fail: #f47067; --unknown: #d8a531; --none: #3a434d;
    --series-0: #4aa3dd; --series-1: #f08a4b; --series-2: #3cc49b; --series-3: #e29fc6;
    --series-4: #e0ae3c; --series-5: #8ccdf5; --series-6: #a48ce8; --series-7: #9aa5b1;
  }
}
body { background: var(--page); color: var(--text); margin: 0 auto; max-width: 76rem;
  padding: 1.5rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p.quiet, td.quiet, .quiet { color: var(--quiet); }
table { border-collapse: collapse; margin: .4rem 0 1rem; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; vertical-align: top;
  border-bottom: 1px solid var(--line); }
th { color: var(--quiet); font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
td.pass, .pass { color: var(--pass); } td.fail, .fail { color: var(--fail); font-weight: 600; }
td.unknown, .unknown { color: var(--unknown); font-weight: 600; }
.plots { display: flex; flex-wrap: wrap; gap: 1.2rem; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--text); font: 11px system-ui, sans-serif; }
svg .quiet { fill: var(--quiet); } svg .title { font-size: 13px; font-weight: 600; }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--line); }
svg .limit { stroke: var(--fail); stroke-dasharray: 5 4; } svg .series { fill: none; }
pre { white-space: pre-wrap; font-size: 12px; color: var(--quiet); }
@media print { body { max-width: none; padding: 0; } h2 { break-after: avoid; }
  svg { break-inside: avoid; } }
)css";

// The length of the well-formed UTF-8 character that `text` begins with; 0: there is none.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const size_t length = byte(0) < 0x80   ? 1
                        : byte(0) < 0xC2 ? 0
                        : byte(0) < 0xE0 ? 2
                        : byte(0) < 0xF0 ? 3
                        : byte(0) < 0xF5 ? 4
                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0) != 0x80) return 0;
  if (length == 3 && byte(0) == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (length == 3 && byte(0) == 0xED && byte(1) > 0x9F) return 0;  // a surrogate
  if (length == 4 && byte(0) == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (length == 4 && byte(0) == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return length;
}

bool IsControl(char c) {
  const auto byte = static_cast<uint8_t>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
}

}  // namespace

std::string HtmlText(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0 || (length == 1 && IsControl(text[0]))) {
      absl::StrAppend(&out, kReplacement);
      text.remove_prefix(1);
      continue;
    }
    switch (text[0]) {
      case '&':
        absl::StrAppend(&out, "&amp;");
        break;
      case '<':
        absl::StrAppend(&out, "&lt;");
        break;
      case '>':
        absl::StrAppend(&out, "&gt;");
        break;
      case '"':
        absl::StrAppend(&out, "&quot;");
        break;
      case '\'':
        absl::StrAppend(&out, "&#39;");
        break;
      default:
        absl::StrAppend(&out, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string HtmlPage(absl::string_view title, absl::string_view body) {
  // The policy protects even if a text should get through the escaping.
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>",
      HtmlText(title), "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n", body,
      "</body>\n</html>\n");
}

std::string HtmlHeading(absl::string_view text) {
  return absl::StrCat("<h2>", HtmlText(text), "</h2>\n");
}

std::string HtmlParagraph(absl::string_view text, absl::string_view style) {
  return absl::StrCat("<p class=\"", style, "\">", HtmlText(text), "</p>\n");
}

std::string HtmlTable(const std::vector<std::string>& header,
                      const std::vector<std::vector<HtmlCell>>& rows) {
  std::string out = "<table>\n<tr>";
  for (const std::string& name : header) absl::StrAppend(&out, "<th>", HtmlText(name), "</th>");
  absl::StrAppend(&out, "</tr>\n");
  for (const std::vector<HtmlCell>& row : rows) {
    absl::StrAppend(&out, "<tr>");
    for (const HtmlCell& cell : row) {
      absl::StrAppend(&out, "<td");
      if (!cell.style.empty()) absl::StrAppend(&out, " class=\"", HtmlText(cell.style), "\"");
      absl::StrAppend(&out, ">", HtmlText(cell.text), "</td>");
    }
    absl::StrAppend(&out, "</tr>\n");
  }
  absl::StrAppend(&out, "</table>\n");
  return out;
}

}  // namespace muster::cli
