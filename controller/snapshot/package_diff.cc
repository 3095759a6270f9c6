#include "controller/snapshot/package_diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"

namespace muster::controller::snapshot {
namespace {

using Lists = std::vector<std::shared_ptr<const PackageList>>;

bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }

// "~" sorts before the end of the text, letters before all other characters.
int Rank(absl::string_view text) {
  if (text.empty() || IsDigit(text[0])) return 0;
  const auto c = static_cast<unsigned char>(text[0]);
  if (c == '~') return -1;
  return absl::ascii_isalpha(c) ? c : c + 256;
}

// The digits with which the text begins, without leading zeros; takes them from it.
absl::string_view TakeNumber(absl::string_view& text) {
  while (!text.empty() && text[0] == '0') text.remove_prefix(1);
  size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  const absl::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  return number;
}

int CompareNumbers(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

// A part of a version: other characters and numbers in turns.
int CompareParts(absl::string_view a, absl::string_view b) {
  while (!a.empty() || !b.empty()) {
    while ((!a.empty() && !IsDigit(a[0])) || (!b.empty() && !IsDigit(b[0]))) {
      if (const int order = Rank(a) - Rank(b); order != 0) return order;
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
    if (const int order = CompareNumbers(TakeNumber(a), TakeNumber(b)); order != 0) return order;
  }
  return 0;
}

struct Version {
  absl::string_view epoch, upstream, revision;
};

Version Split(absl::string_view text) {
  Version version;
  if (const size_t colon = text.find(':'); colon != absl::string_view::npos) {
    version.epoch = text.substr(0, colon);
    text.remove_prefix(colon + 1);
  }
  const size_t dash = text.rfind('-');
  version.upstream = text.substr(0, dash);
  if (dash != absl::string_view::npos) version.revision = text.substr(dash + 1);
  return version;
}

using Newest = std::map<std::pair<std::string, std::string>, std::string>;

Newest NewestOf(const Lists& lists) {
  Newest newest;
  for (const auto& list : lists) {
    list->ForEach([&](const Package& package) {
      std::string& version = newest[{package.name, package.architecture}];
      if (version.empty() || CompareDebianVersions(package.version, version) > 0)
        version = package.version;
    });
  }
  return newest;
}

}  // namespace

int CompareDebianVersions(absl::string_view a, absl::string_view b) {
  const Version x = Split(a);
  const Version y = Split(b);
  if (const int order = CompareParts(x.epoch, y.epoch); order != 0) return order;
  if (const int order = CompareParts(x.upstream, y.upstream); order != 0) return order;
  return CompareParts(x.revision, y.revision);
}

std::vector<PackageChange> DiffPackages(const Lists& before, const Lists& after) {
  const Newest old_versions = NewestOf(before);
  const Newest new_versions = NewestOf(after);
  std::vector<PackageChange> changes;
  for (const auto& [key, version] : old_versions) {
    const auto now = new_versions.find(key);
    if (now == new_versions.end()) {
      changes.push_back({key.first, key.second, version, ""});
    } else if (now->second != version) {
      changes.push_back({key.first, key.second, version, now->second});
    }
  }
  for (const auto& [key, version] : new_versions) {
    if (old_versions.count(key) == 0) changes.push_back({key.first, key.second, "", version});
  }
  std::sort(changes.begin(), changes.end(), [](const PackageChange& a, const PackageChange& b) {
    return std::tie(a.name, a.architecture) < std::tie(b.name, b.architecture);
  });
  return changes;
}

}  // namespace muster::controller::snapshot
