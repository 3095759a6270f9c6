#include "agent/disk/boot_entries.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/kernel_arguments.h"
#include "common/value/image_manifest.h"

namespace muster::agent::disk {
namespace {

constexpr absl::string_view kBeginning = "muster-";
constexpr absl::string_view kEnd = ".conf";
// A comment, because the stub of a signed kernel image takes the options of an entry for the
// command line where Secure Boot is off.
constexpr absl::string_view kSignedWords = "# words ";
// "b", "b+3", "b+2-1".
constexpr size_t kLongestMiddle = 16;

const BootEntry* FindEntry(const std::vector<BootEntry>& entries, char slot) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [slot](const BootEntry& each) { return each.slot == slot; });
  return found == entries.end() ? nullptr : &*found;
}

bool IsGood(const BootEntry* entry) { return entry != nullptr && !entry->tries_left.has_value(); }

}  // namespace

char OtherSlot(char slot) { return slot == 'a' ? 'b' : 'a'; }

std::optional<BootEntry> ReadBootEntry(absl::string_view file_name, absl::string_view text) {
  // A FAT file system may give back other cases.
  std::string name = absl::AsciiStrToLower(file_name);
  absl::string_view middle = name;
  if (!absl::ConsumePrefix(&middle, kBeginning) || !absl::ConsumeSuffix(&middle, kEnd) ||
      middle.empty() || middle.size() > kLongestMiddle)
    return std::nullopt;
  BootEntry entry;
  entry.slot = middle[0];
  if (std::find(std::begin(kSlots), std::end(kSlots), entry.slot) == std::end(kSlots))
    return std::nullopt;
  middle.remove_prefix(1);
  if (absl::ConsumePrefix(&middle, "+")) {
    const std::pair<absl::string_view, absl::string_view> counts =
        absl::StrSplit(middle, absl::MaxSplits('-', 1));
    int left = 0;
    if (!absl::SimpleAtoi(counts.first, &left) || left < 0) return std::nullopt;
    entry.tries_left = left;
  } else if (!middle.empty()) {
    return std::nullopt;
  }
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, "version "))
      (void)absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &entry.generation);
    if (absl::ConsumePrefix(&line, "efi ")) entry.is_signed = true;
    if (absl::ConsumePrefix(&line, "options ") || absl::ConsumePrefix(&line, kSignedWords))
      entry.words = ParseKernelArguments(line);
  }
  const auto image = entry.words.find("muster.image");
  if (image != entry.words.end()) entry.image = image->second;
  return entry;
}

std::string BootEntryName(char slot, std::optional<int> tries_left) {
  const std::string tries = tries_left.has_value() ? absl::StrCat("+", *tries_left) : "";
  return absl::StrCat(kBeginning, std::string(1, slot), tries, kEnd);
}

std::string FailedEntryName(char slot) {
  return absl::StrCat(kBeginning, std::string(1, slot), ".failed");
}

std::string RenderBootEntry(const BootEntry& entry, const std::vector<std::string>& options) {
  const std::string folder = absl::StrCat("/muster/", std::string(1, entry.slot));
  const std::string words = absl::StrJoin(options, " ");
  const std::string boots =
      entry.is_signed
          ? absl::StrCat("efi ", folder, "/", kSignedArtifact, "\n", kSignedWords, words)
          : absl::StrCat("linux ", folder, "/kernel\ninitrd ", folder, "/initrd\noptions ", words);
  // The loader compares versions as strings of digits and letters: a fixed width is safe with all.
  return absl::StrCat("title ", entry.image, " (root ", std::string(1, entry.slot),
                      ")\nsort-key muster\nversion ", absl::StrFormat("%09d", entry.generation),
                      "\n", boots, "\n");
}

char SlotToWrite(const std::vector<BootEntry>& entries) {
  const BootEntry* const a = FindEntry(entries, 'a');
  const BootEntry* const b = FindEntry(entries, 'b');
  if (IsGood(a) != IsGood(b)) return IsGood(a) ? 'b' : 'a';
  if (IsGood(a)) return a->generation > b->generation ? 'b' : 'a';
  // Neither has come up: one that may still be tried stays.
  if (b == nullptr) return a == nullptr ? 'a' : 'b';
  if (a == nullptr) return 'a';
  return a->generation > b->generation ? 'b' : 'a';
}

uint64_t NextGeneration(const std::vector<BootEntry>& entries) {
  uint64_t highest = 0;
  for (const BootEntry& entry : entries) highest = std::max(highest, entry.generation);
  return highest + 1;
}

const BootEntry* FallenBackFrom(const std::vector<BootEntry>& entries, char running) {
  const BootEntry* const mine = FindEntry(entries, running);
  const BootEntry* const other = FindEntry(entries, OtherSlot(running));
  if (mine == nullptr || other == nullptr) return nullptr;
  const bool has_failed = other->tries_left.has_value() && *other->tries_left == 0;
  return has_failed && other->generation > mine->generation ? other : nullptr;
}

bool HasWayBack(const std::vector<BootEntry>& entries, char running) {
  const BootEntry* const mine = FindEntry(entries, running);
  const BootEntry* const other = FindEntry(entries, OtherSlot(running));
  // Firmware that has started what was signed starts nothing else.
  const bool has_to_be_signed = mine != nullptr && mine->is_signed;
  return IsGood(other) && (other->is_signed || !has_to_be_signed);
}

}  // namespace muster::agent::disk
