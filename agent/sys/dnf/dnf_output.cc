#include "agent/sys/dnf/dnf_output.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/sys/failure_text.h"

namespace muster::agent {
namespace {

constexpr float kDownloadPercent = 30, kVerifyPercent = 10;
constexpr size_t kMaxScriptLines = 6;

constexpr absl::string_view kActivities[] = {
    "Installing", "Upgrading", "Reinstalling", "Downgrading",       "Cleanup",
    "Erasing",    "Removing",  "Obsoleting",   "Running scriptlet", "Verifying"};

// What a section of the table does with its rows.
enum class Section { kOther, kInstall, kRemove };
struct SectionRow {
  absl::string_view heading;
  Section section;
};
constexpr SectionRow kSections[] = {
    {"Installing:", Section::kInstall},
    {"Upgrading:", Section::kInstall},
    {"Downgrading:", Section::kInstall},
    {"Installing dependencies:", Section::kInstall},
    {"Installing weak dependencies:", Section::kInstall},
    {"Removing:", Section::kRemove},
    {"Removing dependent packages:", Section::kRemove},
    {"Removing unused dependencies:", Section::kRemove},
    {"Transaction Summary", Section::kOther},
};

struct DnfRemedyRow {
  absl::string_view text;
  DnfRemedy remedy;
};
constexpr DnfRemedyRow kDnfRemedies[] = {
    {"already locked by", DnfRemedy::kWaitForLock},
    {"Failed to obtain the transaction lock", DnfRemedy::kWaitForLock},
    {"can't create transaction lock", DnfRemedy::kWaitForLock},
    {"Status code: 50", DnfRemedy::kTryAgain},
    {"Status code: 404", DnfRemedy::kUpdateLists},
    {"Unable to find a match", DnfRemedy::kUpdateLists},
    {"Cannot find rpm nevra", DnfRemedy::kUpdateLists},
};

struct DnfHintRow {
  absl::string_view text, hint;
};
constexpr absl::string_view kKeyHint =
    "set the key that signs it in package_repository (key, key_file or signed_by)";
constexpr absl::string_view kReachHint =
    "does the node reach it? Check its name service, its routes and dnf's proxy";
constexpr absl::string_view kRoomHint = "make room: df -h /var";
constexpr DnfHintRow kDnfHints[] = {
    {"no enabled repositories", "add one (package_repository)"},
    {"GPG", kKeyHint},
    {"Public key for", kKeyHint},
    {"is not signed", kKeyHint},
    {"checksum",
     "the repository, or a cache in between, serves something other than its lists "
     "promise: synchronize it and run again; nothing of it was installed"},
    {"resolve host", kReachHint},
    {"onnect to server", kReachHint},
    {"imeout", kReachHint},
    {"imed out", kReachHint},
    {"Status code: 404", "is the address right, and its mirror up to date?"},
    {"exclude filtering",
     "a lock of dnf's versionlock, a module stream (package_module) or an exclusion in a "
     "repository's file hides it"},
    {"modular filtering", "enable the module's stream that has it (package_module)"},
    {"nothing provides", "name versions that fit together, or add the repository that has them"},
    {"conflicts", "remove one of them (state: absent), or do without the other"},
    {"missing groups or modules",
     "`dnf module list` on the node has the streams; a stream's repository comes first"},
    {"protected packages", "dnf never removes them (protected_packages in dnf.conf)"},
    {"more space needed", kRoomHint},
    {"No space left", kRoomHint},
    {"Read-only file system", "see the node's kernel log for why"},
};

// Parts of lines that tell a cause although they do not begin with "Error:".
constexpr absl::string_view kTelling[] = {
    "is not signed",     "are not correct for this package",
    "Public key for",    "Curl error",
    "Status code:",      "exclude filtering",
    "modular filtering", "nothing provides",
    "conflicts with",    "can't create transaction lock",
    "checksum",          "Cannot find rpm nevra",
    "no space",          "more space needed",
};
// Errors that say nothing, because the lines before them do.
constexpr absl::string_view kDnfEmptyWords[] = {"GPG check FAILED", "Unable to find a match",
                                                "Transaction test error", "Problems in request"};

absl::string_view Trim(absl::string_view text) { return absl::StripAsciiWhitespace(text); }

// "3/12" → {3, 12}.
std::optional<std::pair<int, int>> ParseCount(absl::string_view word) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(word, absl::MaxSplits('/', 1));
  int done = 0, all = 0;
  if (!absl::SimpleAtoi(parts.first, &done) || !absl::SimpleAtoi(parts.second, &all) || done < 0 ||
      all <= 0 || done > all)
    return std::nullopt;
  return std::make_pair(done, all);
}

std::vector<std::string> SplitWords(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// "5.9 k", in units of 1024; 0 for anything else.
uint64_t ParseSize(absl::string_view text) {
  const std::vector<std::string> words = SplitWords(text);
  double bytes = 0;
  if (words.empty() || !absl::SimpleAtod(words[0], &bytes)) return 0;
  for (const char unit : absl::string_view("kMGT")) {
    if (words.size() < 2) break;
    bytes *= 1024;
    if (words[1][0] == unit) break;
  }
  return bytes >= 0 && bytes < 1e18 ? static_cast<uint64_t>(bytes) : 0;
}

// "warning: %post(tool-1.0-1.noarch) scriptlet failed, exit status 3" → the package.
std::string FailedScript(absl::string_view line) {
  if (!absl::StrContains(line, ") scriptlet failed")) return "";
  const size_t percent = line.find('%');
  if (percent == absl::string_view::npos) return "";
  line.remove_prefix(percent);
  const size_t open = line.find('('), close = line.find(") scriptlet failed");
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open)
    return "";
  return std::string(line.substr(open + 1, close - open - 1));
}

bool ContainsOne(absl::string_view line, const absl::string_view* begin,
                 const absl::string_view* end) {
  return std::any_of(begin, end,
                     [line](absl::string_view part) { return absl::StrContains(line, part); });
}

void AddCause(absl::string_view cause, std::vector<std::string>& causes) {
  // It only names the package again.
  std::string text(Trim(cause.substr(0, cause.find(" Failing package is:"))));
  while (absl::EndsWith(text, ".")) text.pop_back();
  if (!text.empty() && std::find(causes.begin(), causes.end(), text) == causes.end())
    causes.push_back(std::move(text));
}

}  // namespace

std::optional<DnfProgress> ParseDnfProgress(absl::string_view line) {
  line = Trim(line);
  // "(2/3): tool-1.0-1.el9.noarch.rpm    1.2 MB/s | 12 kB     00:00"
  if (const size_t close = line.find("): ");
      absl::StartsWith(line, "(") && close != absl::string_view::npos) {
    const auto count = ParseCount(line.substr(1, close - 1));
    const std::vector<std::string> words = SplitWords(line.substr(close + 3));
    if (!count.has_value() || words.empty()) return std::nullopt;
    return DnfProgress{
        absl::StrCat("downloading ", words[0]),
        kDownloadPercent * static_cast<float>(count->first) / static_cast<float>(count->second)};
  }
  // "Installing       : tool-1.0-1.el9.noarch       2/4"
  const size_t colon = line.find(": ");
  if (colon == absl::string_view::npos) return std::nullopt;
  const absl::string_view activity = Trim(line.substr(0, colon));
  if (std::find(std::begin(kActivities), std::end(kActivities), activity) == std::end(kActivities))
    return std::nullopt;
  const std::vector<std::string> words = SplitWords(line.substr(colon + 1));
  if (words.size() != 2) return std::nullopt;
  const auto count = ParseCount(words[1]);
  if (!count.has_value()) return std::nullopt;
  const float share = static_cast<float>(count->first) / static_cast<float>(count->second);
  return DnfProgress{absl::StrCat(absl::AsciiStrToLower(activity), " ", words[0]),
                     activity == "Verifying"
                         ? 100 - kVerifyPercent + kVerifyPercent * share
                         : kDownloadPercent + (100 - kDownloadPercent - kVerifyPercent) * share};
}

const char kRepoqueryFormat[] = "%{name}\t%{evr}\t%{arch}\t%{repoid}";

std::vector<RpmPackage> ParseRepoquery(absl::string_view output) {
  std::vector<RpmPackage> packages;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
    if (fields.size() != 4 || fields[0].empty() || fields[1].empty() || fields[2] == "src")
      continue;
    absl::string_view version = fields[1];
    absl::ConsumePrefix(&version, "0:");
    packages.push_back({std::string(fields[0]), std::string(version), std::string(fields[2]), "",
                        std::string(fields[3])});
  }
  return packages;
}

PackagePreview ParseDnfPreview(absl::string_view output) {
  PackagePreview preview;
  preview.has_lists = !absl::StrContains(output, "Cache-only enabled but no cache") &&
                      !absl::StrContains(output, "There are no enabled repositories");
  Section section = Section::kOther;
  std::vector<std::string> row;
  uint64_t download_bytes = 0;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    const auto* heading =
        std::find_if(std::begin(kSections), std::end(kSections),
                     [line](const SectionRow& row) { return Trim(line) == row.heading; });
    if (heading != std::end(kSections)) {
      section = heading->section;
      row.clear();
    } else if (absl::ConsumePrefix(&line, "Total download size:")) {
      download_bytes = ParseSize(line);
    } else if (absl::ConsumePrefix(&line, "Total size:")) {
      preview.bytes = ParseSize(line);
    } else if (!absl::StartsWith(line, " ")) {
      section = Section::kOther;
    } else if (section != Section::kOther) {
      std::vector<std::string> words = SplitWords(line);
      if (!words.empty() && words[0] == "replacing") continue;
      // Name, architecture, version, repository, size; a long name stands on a line of its own.
      row.insert(row.end(), words.begin(), words.end());
      if (row.size() < 5) continue;
      if (section == Section::kInstall) preview.versions[row[0]] = row[2];
      if (section == Section::kRemove) preview.removed.push_back(row[0]);
      row.clear();
    }
  }
  if (preview.bytes == 0) preview.bytes = download_bytes;
  return preview;
}

std::vector<std::string> ParseUnfinished(absl::string_view output) {
  std::vector<std::string> unfinished;
  bool in_packages = false;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!absl::StartsWith(line, " ")) in_packages = absl::StartsWith(line, "Packages Altered:");
    std::string package = FailedScript(line);
    // " ** Install slow-1.0-1.el9.noarch @local"
    if (in_packages && absl::ConsumePrefix(&line, " ** ")) {
      const std::vector<std::string> words = SplitWords(line);
      if (words.size() >= 2) package = words[1];
    }
    if (!package.empty() &&
        std::find(unfinished.begin(), unfinished.end(), package) == unfinished.end())
      unfinished.push_back(std::move(package));
  }
  return unfinished;
}

DnfFailure ParseDnfFailure(absl::string_view output) {
  DnfFailure failure;
  std::string empty_words;
  std::vector<std::string> script;  // printed since rpm began the present package
  bool continues = false;           // the lines of an error that follow its first
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    while (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    if (failure.remedy == DnfRemedy::kNone)
      for (const DnfRemedyRow& row : kDnfRemedies)
        if (absl::StrContains(line, row.text)) {
          failure.remedy = row.remedy;
          break;
        }
    if (absl::string_view name = line; absl::ConsumePrefix(&name, "No match for argument: ")) {
      failure.unknown.emplace_back(Trim(name));
      continue;
    }
    if (const std::string package = FailedScript(line); !package.empty()) {
      AddCause(line.substr(line.find('%')), failure.causes);
      failure.said.insert(failure.said.end(), script.begin(), script.end());
      script.clear();
      continue;
    }
    if (ParseDnfProgress(line).has_value()) {
      script.clear();
      continue;
    }
    if (absl::string_view cause = line;
        absl::ConsumePrefix(&cause, "Error: ") || absl::ConsumePrefix(&cause, "error: ")) {
      continues = true;
      if (std::any_of(std::begin(kDnfEmptyWords), std::end(kDnfEmptyWords),
                      [&](absl::string_view words) { return absl::StartsWith(cause, words); })) {
        empty_words = std::string(Trim(cause));
      } else {
        AddCause(cause, failure.causes);
      }
    } else if (absl::StartsWith(line, "Problem repository: ")) {
      AddCause(absl::StrCat("the repository ", Trim(line.substr(line.find(": ") + 2)),
                            " has no GPG key, and rpm trusts none"),
               failure.causes);
    } else if (ContainsOne(line, std::begin(kTelling), std::end(kTelling)) ||
               absl::StartsWith(Trim(line), "missing groups or modules") ||
               (continues && absl::StartsWith(line, "  "))) {
      absl::string_view cause = Trim(line);
      absl::ConsumePrefix(&cause, "- ");
      AddCause(cause, failure.causes);
    } else {
      continues = false;
      if (const absl::string_view text = Trim(line); !text.empty()) script.emplace_back(text);
    }
  }
  if (failure.causes.empty() && !empty_words.empty()) failure.causes.push_back(empty_words);
  for (const DnfHintRow& row : kDnfHints)
    for (const std::string& cause : failure.causes)
      if (failure.hint.empty() && absl::StrContains(cause, row.text))
        failure.hint = std::string(row.hint);
  if (failure.said.size() > kMaxScriptLines)
    failure.said.erase(failure.said.begin(),
                       failure.said.end() - static_cast<std::ptrdiff_t>(kMaxScriptLines));
  return failure;
}

std::string DnfFailure::Describe() const { return DescribeFailure(causes, hint, said); }

}  // namespace muster::agent
