#include "agent/sys/apt/apt_output.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/sys/failure_text.h"

namespace muster::agent {
namespace {

constexpr float kDownloadShare = 0.3f;
constexpr size_t kMaxSaid = 6;
constexpr size_t kBuildLogLines = 8;
constexpr size_t kMaxBuildLogLine = 300;

// Parts of apt's messages and the remedy for each.
struct RemedyRow {
  absl::string_view text;
  AptRemedy remedy;
};
constexpr RemedyRow kRemedies[] = {
    {"dpkg was interrupted", AptRemedy::kConfigureAll},
    {"Could not get lock", AptRemedy::kWaitForLock},
    {"Unable to acquire the dpkg frontend lock", AptRemedy::kWaitForLock},
    {"--fix-broken install", AptRemedy::kFixBroken},
    {"Unable to fetch some archives", AptRemedy::kUpdateLists},
    {"Unable to locate package", AptRemedy::kUpdateLists},
    {"has no installation candidate", AptRemedy::kUpdateLists},
    {"was not found", AptRemedy::kUpdateLists},  // "Version '1.2' for 'x' was not found"
};

// Parts of causes and the hint for an administrator.
struct HintRow {
  absl::string_view text, hint;
};
constexpr absl::string_view kLies =
    "the repository, or a cache in between, serves something other than its lists promise: "
    "synchronize it and run again; nothing of it was installed";
constexpr absl::string_view kReach =
    "does the node reach it? Check its name service, its routes and apt's proxy";
constexpr absl::string_view kKey =
    "set the key that signs it in package_repository (key, key_file or signed_by)";
constexpr absl::string_view kIncomplete =
    "installed packages lack what they depend on: add the repository that has it "
    "(package_repository), or remove them (state: absent); --fix-broken by hand may remove "
    "packages that no task names";
constexpr HintRow kHints[] = {
    {"Hash Sum mismatch", kLies},
    {"unexpected size", kLies},
    {"GPG error", kKey},
    {"is not signed", kKey},
    {"changed its '",
     "if its owner intended that, run `apt-get update --allow-releaseinfo-change` on the node"},
    {"is not valid yet", "is the node's clock right?"},
    {"Release file", "is its mirror up to date, and is the node's clock right?"},
    {"resolv", kReach},
    {"onnect", kReach},
    {"imeout", kReach},
    {"imed out", kReach},
    {"--fix-broken install", kIncomplete},
    {"epends: ", "name versions that fit together, or add the repository that has them"},
    {"Conflicts: ", "remove one of them (state: absent), or do without the other"},
    {"Packages were downgraded", "if that is intended, write allow_downgrade: true"},
    {"Held packages were changed",
     "release them (hold: false), or leave out the task that needs the change"},
    {"was not found", "`apt-cache policy` on the node lists the available versions"},
    {"free space", "make room: df -h /var"},
    {"No space left", "make room: df -h /var"},
    {"Read-only file system", "see the node's kernel log for why"},
};

// Phrases that apt appends to its errors without adding information.
constexpr absl::string_view kEmptyWords[] = {
    "Sub-process /usr/bin/dpkg returned an error code",
    "Some index files failed to download",
    "Unable to fetch some archives",
    "Unable to correct problems, you have held broken packages",
    "Problem executing scripts",
};

// Lines with which dpkg begins the next package.
constexpr absl::string_view kTurns[] = {"Setting up ", "Unpacking ",     "Preparing to ",
                                        "Removing ",   "Purging ",       "Selecting ",
                                        "Processing ", "Installing new "};

// "E: Failed to fetch http://x/InRelease  503  Service Unavailable": a temporary failure of a
// repository or of a cache in between.
bool IsServerError(absl::string_view line) {
  if (!absl::StartsWith(line, "E: Failed to fetch ")) return false;
  const size_t at = line.find("  5");
  return at != absl::string_view::npos && at + 7 <= line.size() &&
         absl::ascii_isdigit(static_cast<unsigned char>(line[at + 3])) &&
         absl::ascii_isdigit(static_cast<unsigned char>(line[at + 4])) &&
         line.substr(at + 5, 2) == "  ";
}

template <typename Rows>
bool BeginsWithOne(absl::string_view line, const Rows& rows) {
  return std::any_of(std::begin(rows), std::end(rows),
                     [line](absl::string_view row) { return absl::StartsWith(line, row); });
}

// "dpkg: error processing package slurmd (--configure):" → "slurmd".
std::string FailedPackage(absl::string_view line) {
  constexpr absl::string_view kPackage = "dpkg: error processing package ";
  constexpr absl::string_view kArchive = "dpkg: error processing archive ";
  for (const absl::string_view prefix : {kPackage, kArchive})
    if (absl::StartsWith(line, prefix)) {
      line.remove_prefix(prefix.size());
      return std::string(line.substr(0, line.find(' ')));
    }
  return "";
}

// The cause that one of apt's own lines names; "" if it names none.
std::string CauseIn(absl::string_view line) {
  if (absl::StrContains(line, "epends: ") || absl::StrContains(line, " Conflicts: "))
    return absl::StartsWith(line, " ") ? std::string(absl::StripAsciiWhitespace(line)) : "";
  if (absl::StartsWith(line, "W: GPG error: ")) return std::string(line.substr(3));
  if (!absl::ConsumePrefix(&line, "E: ") || BeginsWithOne(line, kEmptyWords)) return "";
  return std::string(absl::StripAsciiWhitespace(line));
}

// "E: Unable to locate package foo", "E: Package 'foo' has no installation candidate".
std::string UnknownPackage(absl::string_view line) {
  constexpr absl::string_view kLocate = "E: Unable to locate package ";
  constexpr absl::string_view kPackage = "E: Package '";
  if (absl::StartsWith(line, kLocate))
    return std::string(absl::StripAsciiWhitespace(line.substr(kLocate.size())));
  if (absl::StartsWith(line, kPackage) &&
      absl::StrContains(line, "has no installation candidate")) {
    line.remove_prefix(kPackage.size());
    return std::string(line.substr(0, line.find('\'')));
  }
  return "";
}

// DKMS says "Consult /var/lib/dkms/nvidia/535.261.03/build/make.log for more information."
std::string BuildLog(absl::string_view line) {
  constexpr absl::string_view kFolder = "/var/lib/dkms/", kFile = "/make.log";
  const size_t begin = line.find(kFolder);
  if (begin == absl::string_view::npos) return "";
  line.remove_prefix(begin);
  const size_t end = line.find(kFile);
  if (end == absl::string_view::npos) return "";
  const absl::string_view path = line.substr(0, end + kFile.size());
  return absl::StrContains(path, ' ') || absl::StrContains(path, "/..") ? "" : std::string(path);
}

// A compiler's "error: ", and what a makefile says itself ("*** Failed CC version check. ***"),
// after which jobs of a parallel make may still say something.
bool NamesABuildFault(absl::string_view line) {
  return absl::StrContains(line, "error: ") || absl::StartsWith(line, "*** ");
}

std::string LowerFirst(absl::string_view text) {
  std::string result(absl::StripAsciiWhitespace(text));
  if (!result.empty()) result[0] = absl::ascii_tolower(result[0]);
  return result;
}

}  // namespace

std::optional<AptProgress> ParseAptProgress(absl::string_view line) {
  // kind:package:percent:message; a package may hold a colon ("libc6:amd64"), and so may the
  // message: the percent is the first part after the package that is a number.
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ':');
  if (parts.size() < 4) return std::nullopt;
  const absl::string_view kind = parts[0];
  const bool download = kind == "dlstatus", package = kind == "pmstatus", error = kind == "pmerror";
  if (!download && !package && !error) return std::nullopt;
  for (size_t i = 2; i + 1 < parts.size() && i <= 3; ++i) {
    float percent = 0;
    if (!absl::SimpleAtof(parts[i], &percent) || !(percent >= 0 && percent <= 100)) continue;
    const std::string message =
        absl::StrJoin(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1, parts.end(), ":");
    AptProgress progress;
    progress.is_error = error;
    progress.activity = error ? absl::StrCat(parts[1], ": ", message) : LowerFirst(message);
    progress.percent =
        download ? percent * kDownloadShare : 100 * kDownloadShare + percent * (1 - kDownloadShare);
    return progress;
  }
  return std::nullopt;
}

std::map<std::string, AptPolicy> ParsePolicy(absl::string_view output) {
  constexpr absl::string_view kCandidate = "  Candidate: ";
  std::map<std::string, AptPolicy> policies;
  AptPolicy* policy = nullptr;
  std::string package;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!line.empty() && line[0] != ' ' && line.back() == ':') {
      package = std::string(line.substr(0, line.size() - 1));
      policy = nullptr;
    } else if (absl::StartsWith(line, kCandidate) && !package.empty()) {
      const absl::string_view value = line.substr(kCandidate.size());
      policy = &policies[package];
      policy->candidate = value == "(none)" ? "" : std::string(value);
    } else if (policy != nullptr &&
               (absl::ConsumePrefix(&line, " *** ") ||
                (absl::ConsumePrefix(&line, "     ") && !absl::StartsWith(line, " ")))) {
      policy->versions.emplace_back(line.substr(0, line.find(' ')));
    }
  }
  return policies;
}

std::map<std::string, std::vector<std::string>> ParseSecurityVersions(absl::string_view output) {
  std::map<std::string, std::vector<std::string>> versions;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    // "  openssl | 3.0.16-1 | http://deb.debian.org/debian-security bookworm-security/main amd64
    // Packages"
    const std::vector<absl::string_view> columns = absl::StrSplit(line, " | ");
    if (columns.size() != 3) continue;
    const std::vector<absl::string_view> source =
        absl::StrSplit(columns[2], ' ', absl::SkipWhitespace());
    if (source.size() < 2) continue;
    const absl::string_view suite = source[1].substr(0, source[1].find('/'));
    if (!absl::EndsWith(suite, "-security")) continue;
    versions[std::string(absl::StripAsciiWhitespace(columns[0]))].emplace_back(
        absl::StripAsciiWhitespace(columns[1]));
  }
  return versions;
}

AptSimulation ParseSimulation(absl::string_view output) {
  AptSimulation simulation;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    // "Inst slurmd [22.05.3-1] (22.05.8-4 Debian:12/stable [amd64]) []", without the first pair of
    // brackets if it is new.
    const bool installs = absl::ConsumePrefix(&line, "Inst ");
    if (!installs && !absl::ConsumePrefix(&line, "Remv ")) continue;
    const absl::string_view name = line.substr(0, line.find(' '));
    if (name.empty()) continue;
    if (!installs) {
      simulation.removed.emplace_back(name);
      continue;
    }
    const size_t open = line.find('(');
    if (open == absl::string_view::npos) continue;
    const absl::string_view version =
        line.substr(open + 1, line.find_first_of(" )", open) - open - 1);
    simulation.installed.emplace(name, version);
  }
  return simulation;
}

uint64_t SumOfSizes(absl::string_view output) {
  uint64_t sum = 0;
  for (absl::string_view line : absl::StrSplit(output, '\n')) {
    uint64_t bytes = 0;
    if (absl::ConsumePrefix(&line, "Size: ") && absl::SimpleAtoi(line, &bytes)) sum += bytes;
  }
  return sum;
}

AptFailure ParseAptFailure(absl::string_view output) {
  AptFailure failure;
  std::string empty_words;
  std::vector<std::string> script;  // printed since dpkg began the present package
  const std::vector<absl::string_view> lines = absl::StrSplit(output, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    const absl::string_view line = lines[i];
    if (failure.remedy == AptRemedy::kNone && IsServerError(line))
      failure.remedy = AptRemedy::kTryAgain;
    if (failure.remedy == AptRemedy::kNone)
      for (const RemedyRow& row : kRemedies)
        if (absl::StrContains(line, row.text)) {
          failure.remedy = row.remedy;
          break;
        }
    if (std::string unknown = UnknownPackage(line); !unknown.empty())
      failure.unknown.push_back(std::move(unknown));
    if (failure.build_log.empty()) failure.build_log = BuildLog(line);
    if (const std::string package = FailedPackage(line); !package.empty()) {
      const bool explained = i + 1 < lines.size() && absl::StartsWith(lines[i + 1], " ");
      failure.causes.push_back(
          explained ? absl::StrCat(package, ": ", absl::StripAsciiWhitespace(lines[i + 1]))
                    : std::string(line));
      failure.said.insert(failure.said.end(), script.begin(), script.end());
      script.clear();
    } else if (BeginsWithOne(line, kTurns)) {
      script.clear();
    } else if (std::string cause = CauseIn(line); !cause.empty()) {
      if (std::find(failure.causes.begin(), failure.causes.end(), cause) == failure.causes.end())
        failure.causes.push_back(std::move(cause));
    } else if (absl::StartsWith(line, "E: ")) {
      empty_words = std::string(line.substr(3));
    } else if (const absl::string_view text = absl::StripAsciiWhitespace(line); !text.empty()) {
      script.emplace_back(text);
    }
  }
  if (failure.causes.empty() && !empty_words.empty()) failure.causes.push_back(empty_words);
  for (const HintRow& row : kHints)
    for (const std::string& cause : failure.causes)
      if (failure.hint.empty() && absl::StrContains(cause, row.text))
        failure.hint = std::string(row.hint);
  if (failure.said.size() > kMaxSaid)
    failure.said.erase(failure.said.begin(),
                       failure.said.end() - static_cast<std::ptrdiff_t>(kMaxSaid));
  return failure;
}

std::string EndOfBuildLog(absl::string_view log) {
  const std::vector<absl::string_view> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
  const size_t end_begin = lines.size() - std::min(lines.size(), kBuildLogLines);
  std::string text;
  const auto append = [&text](absl::string_view line) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", line.substr(0, kMaxBuildLogLine));
  };
  for (size_t i = 0; i < end_begin; ++i) {
    if (!NamesABuildFault(lines[i])) continue;
    append(lines[i]);
    if (i + 1 < end_begin) append("…");
    break;
  }
  for (size_t i = end_begin; i < lines.size(); ++i) append(lines[i]);
  return text;
}

std::string AptFailure::Describe() const { return DescribeFailure(causes, hint, said); }

}  // namespace muster::agent
