#include "common/health/kernel_line.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace muster::health {
namespace {

constexpr size_t kLongestName = 15;  // of a program: TASK_COMM_LEN, with its NUL
constexpr absl::string_view kDigits = "0123456789";

// Words that follow the name of a program at the beginning of a message. From mm/oom_kill.c,
// mm/page_alloc.c, mm/vmalloc.c and kernel/signal.c.
constexpr absl::string_view kAfterName[] = {
    " invoked oom-killer",
    ": page allocation failure",
    ": potentially unexpected fatal signal",
    ": vmalloc ",
};

// The brackets around the number of a process behind its name: "python[12]: segfault at",
// "python (12): attempted to", "python/12 is trying to".
struct Brackets {
  absl::string_view open;
  absl::string_view close;
};
constexpr Brackets kAroundPid[] = {{"[", "]"}, {"(", ")"}, {"/", " "}};

bool IsPidAt(absl::string_view text) {
  return std::any_of(std::begin(kAroundPid), std::end(kAroundPid),
                     [text](const Brackets& brackets) {
                       absl::string_view rest = text;
                       if (!absl::ConsumePrefix(&rest, brackets.open)) return false;
                       const size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
                       return digits > 0 && absl::StartsWith(rest.substr(digits), brackets.close);
                     });
}

// The length of the character at the beginning: /dev/kmsg writes some as "\x0a".
size_t CharacterAt(absl::string_view text) {
  return absl::StartsWith(text, "\\x") ? std::min<size_t>(4, text.size()) : 1;
}

bool BeginsWithProgram(absl::string_view message) {
  for (size_t length = 0; length <= kLongestName + 1 && !message.empty(); ++length) {
    if (IsPidAt(message)) return true;  // also behind a blank
    if (length <= kLongestName &&
        std::any_of(std::begin(kAfterName), std::end(kAfterName),
                    [&](absl::string_view words) { return absl::StartsWith(message, words); }))
      return true;
    message.remove_prefix(CharacterAt(message));
  }
  return false;
}

// "[   12.345678] ", "[Mon Nov 30 11:26:35 2026] ", or the context of a line: "[  T123] ".
bool ConsumeTime(absl::string_view& line) {
  const size_t end = line.find(']');
  if (!absl::StartsWith(line, "[") || end == absl::string_view::npos) return false;
  const absl::string_view inside = absl::StripLeadingAsciiWhitespace(line.substr(1, end - 1));
  const bool is_time = absl::StrContains(inside, ".") || absl::StrContains(inside, ":");
  const bool is_context = inside.size() > 1 && (inside[0] == 'T' || inside[0] == 'C') &&
                          inside.find_first_not_of(kDigits, 1) == absl::string_view::npos;
  const bool is_plain = std::all_of(inside.begin(), inside.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == ' ' || c == '.' || c == ':';
  });
  if (!is_plain || !(is_time || is_context) ||
      inside.find_first_of(kDigits) == absl::string_view::npos)
    return false;
  line.remove_prefix(end + 1);
  absl::ConsumePrefix(&line, " ");
  return true;
}

// "c001 kernel: ", as the journal has it behind the time.
void ConsumeSource(absl::string_view& line) {
  constexpr absl::string_view kKernel = " kernel: ";
  const size_t host =
      std::find_if_not(line.begin(), line.end(),
                       [](char c) {
                         return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' ||
                                c == '-' || c == '_';
                       }) -
      line.begin();
  if (host > 0 && absl::StartsWith(line.substr(host), kKernel))
    line.remove_prefix(host + kKernel.size());
}

}  // namespace

absl::string_view KernelMessageOf(absl::string_view line) {
  // A program's name may look like these: then it stays, to be recognized.
  bool has_time = false;
  while (!BeginsWithProgram(line) && ConsumeTime(line)) has_time = true;
  if (has_time && !BeginsWithProgram(line)) ConsumeSource(line);
  return line;
}

bool BeginsWithUsersText(absl::string_view message) {
  // dmesg and journalctl indent what follows a line break, which a file's name may contain.
  return absl::StartsWith(message, " ") || BeginsWithProgram(message);
}

}  // namespace muster::health
