#include "agent/sys/dnf/version_locks.h"

#include <fnmatch.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/sys/dnf/rpm_version.h"

namespace muster::agent {
namespace {

// The value of "key = value"; "" if no line sets it.
std::string ValueOf(absl::string_view configuration, absl::string_view key) {
  std::string value;
  for (const absl::string_view line : absl::StrSplit(configuration, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    if (absl::StripAsciiWhitespace(parts.first) == key)
      value = std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return value;
}

// The forms in which a pattern may name a package.
std::vector<std::string> Forms(const RpmPackage& package) {
  const std::string bare(WithoutEpoch(package.version));
  const std::string version(bare.substr(0, bare.find('-')));
  const std::string with_epoch =
      absl::StrContains(package.version, ':') ? package.version : absl::StrCat("0:", bare);
  std::vector<std::string> forms = {package.name, absl::StrCat(package.name, "-", version)};
  for (const std::string& full : {bare, with_epoch}) {
    forms.push_back(absl::StrCat(package.name, "-", full));
    forms.push_back(absl::StrCat(package.name, "-", full, ".", package.arch));
  }
  forms.push_back(absl::StrCat(package.name, ".", package.arch));
  return forms;
}

bool LineHolds(absl::string_view line, const RpmPackage& package) {
  line = absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
  // "!pattern" keeps dnf from this version, and not from the others.
  if (line.empty() || line.front() == '!') return false;
  const std::string pattern(line);
  const std::vector<std::string> forms = Forms(package);
  return std::any_of(forms.begin(), forms.end(), [&pattern](const std::string& form) {
    return ::fnmatch(pattern.c_str(), form.c_str(), 0) == 0;
  });
}

}  // namespace

bool VersionLockIsEnabled(absl::string_view configuration) {
  const std::string value = absl::AsciiStrToLower(ValueOf(configuration, "enabled"));
  return value == "1" || value == "true" || value == "yes" || value == "on";
}

std::string VersionLockPath(absl::string_view configuration) {
  return ValueOf(configuration, "locklist");
}

VersionLocks::VersionLocks(absl::string_view text) : lines_(absl::StrSplit(text, '\n')) {
  if (!lines_.empty() && lines_.back().empty()) lines_.pop_back();
}

bool VersionLocks::Holds(const RpmPackage& package) const {
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const std::string& line) { return LineHolds(line, package); });
}

void VersionLocks::Release(const RpmPackage& package) {
  lines_.erase(std::remove_if(lines_.begin(), lines_.end(),
                              [&](const std::string& line) { return LineHolds(line, package); }),
               lines_.end());
}

void VersionLocks::ReleaseOnly(const RpmPackage& package,
                               const std::vector<RpmPackage>& installed) {
  std::vector<std::string> gone;
  std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(gone),
               [&](const std::string& line) { return LineHolds(line, package); });
  Release(package);
  for (const RpmPackage& other : installed) {
    // A pattern knows no architecture: those of one name are held together.
    if (other.name == package.name || Holds(other)) continue;
    if (std::any_of(gone.begin(), gone.end(),
                    [&](const std::string& line) { return LineHolds(line, other); }))
      Hold(other);
  }
}

void VersionLocks::Hold(const RpmPackage& package) {
  Release(package);
  // The plugin's own form.
  lines_.push_back(
      absl::StrCat(package.name, "-",
                   absl::StrContains(package.version, ':') ? "" : "0:", package.version, ".*"));
}

std::string VersionLocks::Text() const {
  return lines_.empty() ? "" : absl::StrCat(absl::StrJoin(lines_, "\n"), "\n");
}

}  // namespace muster::agent
