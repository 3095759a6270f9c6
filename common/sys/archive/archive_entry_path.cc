#include "common/sys/archive/archive_entry_path.h"

#include <deque>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::sys {
namespace {

constexpr size_t kMaxPath = 4000;
constexpr size_t kMaxPart = 255;
// The kernel's own limit.
constexpr int kMaxHops = 40;

}  // namespace

absl::StatusOr<std::string> EntryPath(absl::string_view raw, uint32_t strip) {
  const auto refuse = [raw](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("archive entry '", absl::CHexEscape(raw.substr(0, 200)), "' ", why));
  };
  if (raw.empty()) return refuse("has no name");
  if (raw.front() == '/') return refuse("has an absolute path");
  if (raw.find('\0') != absl::string_view::npos) return refuse("has a NUL in its name");
  if (raw.size() > kMaxPath) return refuse("has a name that is too long");
  std::vector<absl::string_view> parts;
  for (const absl::string_view part : absl::StrSplit(raw, '/')) {
    if (part == "..") return refuse("climbs out of the archive with '..'");
    if (part.size() > kMaxPart) return refuse("has a name that is too long");
    if (part.empty() || part == ".") continue;  // "./a", "a//b" and "a/" are the same to every tar
    parts.push_back(part);
  }
  if (parts.size() <= strip) return std::string();
  parts.erase(parts.begin(), parts.begin() + strip);
  return absl::StrJoin(parts, "/");
}

absl::Status CheckLink(const LinkMap& links, const std::string& path, const std::string& place) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("archive entry '", absl::CHexEscape(path), "' is a symbolic link to '",
                     absl::CHexEscape(links.at(path).substr(0, 200)), "', ", why));
  };
  // The parts still to walk, and where the walk has arrived: the link itself first.
  std::deque<std::string> ahead = absl::StrSplit(path, '/');
  std::vector<std::string> at;
  for (int hops = 0; !ahead.empty();) {
    const std::string part = ahead.front();
    ahead.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (at.empty()) return refuse("which leaves the target");
      at.pop_back();
      continue;
    }
    at.push_back(part);
    const auto link = links.find(absl::StrJoin(at, "/"));
    if (link == links.end()) continue;
    if (++hops > kMaxHops) return refuse("which goes in a circle");
    absl::string_view target = link->second;
    at.pop_back();
    if (absl::StartsWith(target, "/")) {
      if (target != place && !absl::StartsWith(target, place + "/"))
        return refuse("which leaves the target");
      target.remove_prefix(place.size());
      at.clear();
    }
    const std::vector<std::string> parts = absl::StrSplit(target, '/');
    ahead.insert(ahead.begin(), parts.begin(), parts.end());
    if (ahead.size() > kMaxPath) return refuse("which never ends");
  }
  return absl::OkStatus();
}

}  // namespace muster::sys
