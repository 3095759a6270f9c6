#include "cli/render/help_topics.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/nearest_word.h"

namespace muster::cli {
namespace {

constexpr size_t kColumns = 78;

bool IsFence(absl::string_view line) { return absl::StartsWith(line, "```"); }

// The level of a heading, 0 for any other line; strips the marks.
int TakeHeading(absl::string_view* line) {
  int level = 0;
  while (absl::ConsumePrefix(line, "#")) ++level;
  *line = absl::StripLeadingAsciiWhitespace(*line);
  return level;
}

struct Section {
  std::string page;
  std::string topic;  // the heading in lower case
  std::string text;   // Markdown, down to the next heading that is not below it
};

std::vector<Section> Sections() {
  std::vector<Section> sections;
  for (size_t i = 0; i < kHelpPageCount; ++i) {
    std::vector<std::pair<size_t, int>> open;  // sections still open at this line, with levels
    bool in_code = false;
    for (const absl::string_view line : absl::StrSplit(kHelpPages[i].text, '\n')) {
      if (IsFence(line)) in_code = !in_code;
      absl::string_view heading = line;
      const int level = in_code ? 0 : TakeHeading(&heading);
      if (level > 0) {
        while (!open.empty() && open.back().second >= level) open.pop_back();
        if (level > 1) {  // the first is the page's
          open.emplace_back(sections.size(), level);
          sections.push_back({kHelpPages[i].name, absl::AsciiStrToLower(heading), ""});
        }
      }
      for (const auto& [section, unused] : open)
        absl::StrAppend(&sections[section].text, line, "\n");
    }
  }
  return sections;
}

// "[text](target)" → "text", "**text**" → "text".
std::string PlainLine(absl::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const size_t close = line[0] == '[' ? line.find("](") : absl::string_view::npos;
    const size_t end = close == absl::string_view::npos ? close : line.find(')', close);
    if (end != absl::string_view::npos) {
      plain.append(line.data() + 1, close - 1);
      line.remove_prefix(end + 1);
    } else {
      plain.push_back(line[0]);
      line.remove_prefix(1);
    }
  }
  return absl::StrReplaceAll(plain, {{"**", ""}});
}

}  // namespace

std::vector<std::string> HelpTopics() {
  std::vector<std::string> topics;
  for (size_t i = 0; i < kHelpPageCount; ++i) topics.push_back(kHelpPages[i].name);
  for (Section& section : Sections()) topics.push_back(std::move(section.topic));
  std::sort(topics.begin(), topics.end());
  topics.erase(std::unique(topics.begin(), topics.end()), topics.end());
  return topics;
}

std::string ListHelp() {
  std::string text = "muster help TOPIC\n\nPages:\n";
  for (size_t i = 0; i < kHelpPageCount; ++i) {
    const HelpPage& page = kHelpPages[i];
    absl::StrAppend(
        &text, "  ", page.name,
        std::string(18 - std::min<size_t>(17, absl::string_view(page.name).size()), ' '),
        page.summary, "\n");
  }
  absl::StrAppend(&text, "\nSections:\n");
  std::string line = " ";
  for (const std::string& topic : HelpTopics()) {
    const bool is_page = std::any_of(kHelpPages, kHelpPages + kHelpPageCount,
                                     [&](const HelpPage& page) { return page.name == topic; });
    if (is_page || absl::StrContains(topic, ' ')) continue;
    if (line.size() + 1 + topic.size() > kColumns) {
      absl::StrAppend(&text, line, "\n");
      line.assign(1, ' ');
    }
    absl::StrAppend(&line, " ", topic);
  }
  absl::StrAppend(&text, line, "\n");
  return text;
}

absl::StatusOr<std::string> FindHelp(absl::string_view topic) {
  const std::string wanted = absl::AsciiStrToLower(topic);
  for (size_t i = 0; i < kHelpPageCount; ++i)
    if (kHelpPages[i].name == wanted) return PlainText(kHelpPages[i].text);
  std::string found;
  for (const Section& section : Sections()) {
    if (section.topic != wanted) continue;
    absl::StrAppend(&found, found.empty() ? "" : "\n", PlainText(section.text), "\n(muster help ",
                    section.page, ")\n");
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(absl::StrCat("no help on '", topic, "'",
                                          DidYouMean(wanted, HelpTopics()),
                                          "; muster help lists the topics"));
}

std::string PlainText(absl::string_view markdown) {
  std::vector<std::string> lines;
  bool in_code = false;
  for (absl::string_view line : absl::StrSplit(markdown, '\n')) {
    if (IsFence(line)) {
      in_code = !in_code;
      continue;
    }
    if (in_code) {
      lines.push_back(line.empty() ? "" : absl::StrCat("    ", line));
      continue;
    }
    const int level = TakeHeading(&line);
    std::string plain = PlainLine(line);
    if (level == 1 || level == 2) plain = absl::AsciiStrToUpper(plain);
    lines.push_back(std::move(plain));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
}

}  // namespace muster::cli
