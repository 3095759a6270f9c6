#include "agent/sys/apt_output.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

constexpr float kDownloadShare = 0.3f;
constexpr size_t kMaxErrorLines = 12;

// Parts of apt's messages and what they ask for.
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

std::map<std::string, std::string> ParsePolicy(absl::string_view output) {
  constexpr absl::string_view kCandidate = "  Candidate: ";
  std::map<std::string, std::string> candidates;
  std::string package;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (!line.empty() && line[0] != ' ' && line.back() == ':') {
      package = std::string(line.substr(0, line.size() - 1));
    } else if (!package.empty() && absl::StartsWith(line, kCandidate)) {
      const absl::string_view value = line.substr(kCandidate.size());
      candidates[package] = value == "(none)" ? "" : std::string(value);
    }
  }
  return candidates;
}

AptFailure ParseAptFailure(absl::string_view output) {
  AptFailure failure;
  std::vector<std::string> errors;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (failure.remedy == AptRemedy::kNone)
      for (const RemedyRow& row : kRemedies)
        if (absl::StrContains(line, row.text)) {
          failure.remedy = row.remedy;
          break;
        }
    if (std::string unknown = UnknownPackage(line); !unknown.empty())
      failure.unknown.push_back(std::move(unknown));
    const bool from_dpkg = absl::StartsWith(line, "dpkg: ") || absl::StartsWith(line, " ");
    if (absl::StartsWith(line, "E: ") || absl::StartsWith(line, "Err:") ||
        absl::StartsWith(line, "dpkg: error") || (from_dpkg && absl::StrContains(line, "Depends:")))
      errors.emplace_back(absl::StripAsciiWhitespace(line));
  }
  if (errors.size() > kMaxErrorLines) errors.resize(kMaxErrorLines);
  failure.errors = absl::StrJoin(errors, "\n");
  return failure;
}

}  // namespace muster::agent
