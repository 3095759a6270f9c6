#include "agent/sys/dnf/repositories.h"

#include <functional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

// Calls `visit` for each "key = value" below its "[section]".
void ReadIni(absl::string_view text,
             const std::function<void(absl::string_view section, absl::string_view key,
                                      absl::string_view value)>& visit) {
  absl::string_view section;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      section = line.substr(1, line.size() - 2);
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    visit(section, absl::StripAsciiWhitespace(parts.first),
          absl::StripAsciiWhitespace(parts.second));
  }
}

}  // namespace

void ReadPriorities(absl::string_view text, std::map<std::string, int>& priorities) {
  ReadIni(text, [&](absl::string_view section, absl::string_view key, absl::string_view value) {
    int priority = 0;
    if (key == "priority" && absl::SimpleAtoi(value, &priority))
      priorities[std::string(section)] = priority;
  });
}

std::string EnabledStream(absl::string_view text, absl::string_view module) {
  std::string stream;
  bool enabled = false;
  ReadIni(text, [&](absl::string_view section, absl::string_view key, absl::string_view value) {
    if (section != module) return;
    if (key == "stream") stream = std::string(value);
    if (key == "state") enabled = value == "enabled";
  });
  return enabled ? stream : "";
}

}  // namespace muster::agent
