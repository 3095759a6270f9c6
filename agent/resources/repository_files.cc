#include "agent/resources/repository_files.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/resources/check_values.h"
#include "common/base/status.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kSourcesFolder[] = "/etc/apt/sources.list.d";
constexpr char kKeyFolder[] = "/etc/apt/keyrings";
constexpr char kPinFolder[] = "/etc/apt/preferences.d";
constexpr char kRepoFolder[] = "/etc/yum.repos.d";
constexpr char kRpmKeyFolder[] = "/etc/pki/rpm-gpg";

// Priorities of apt: of repositories without a pin, and the last that never downgrades.
constexpr int kAptDefault = 500, kAptHighest = 1000;
// Priorities of dnf, where a lower one wins: of repositories without one, and the first.
constexpr int kDnfDefault = 99, kDnfFirst = 1;

using Words = google::protobuf::RepeatedPtrField<std::string>;

// The deb822 form of sources.list(5).
std::string Render(const v1::PackageRepositoryResource& spec, const std::string& key_path) {
  std::string text = "# Written by Muster.\n";
  const auto line = [&text](absl::string_view field, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, field, ": ", value, "\n");
  };
  line("Types", spec.types().empty() ? "deb" : absl::StrJoin(spec.types(), " "));
  line("URIs", absl::StrJoin(spec.uris(), " "));
  line("Suites", absl::StrJoin(spec.suites(), " "));
  line("Components", absl::StrJoin(spec.components(), " "));
  line("Architectures", absl::StrJoin(spec.architectures(), " "));
  line("Check-Valid-Until", spec.allow_expired() ? "no" : "");
  line("Signed-By", spec.key().empty() ? spec.signed_by() : key_path);
  return text;
}

// "http://user@mirror.example:8080/debian" → "mirror.example"; "" for repositories on the node
// itself, as in apt's own names.
std::string HostOf(absl::string_view uri) {
  const size_t scheme = uri.find("://");
  if (scheme == absl::string_view::npos) return "";
  absl::string_view host = uri.substr(scheme + 3);
  host = host.substr(0, host.find('/'));
  if (const size_t at = host.rfind('@'); at != absl::string_view::npos) host.remove_prefix(at + 1);
  if (!host.empty() && host[0] == '[') return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

// The form of apt_preferences(5).
std::string RenderPins(const v1::PackageRepositoryResource& spec) {
  std::set<std::string> hosts;
  for (const std::string& uri : spec.uris())
    hosts.insert(absl::StrCat("origin \"", HostOf(uri), "\""));
  std::vector<std::string> paragraphs;
  for (const v1::PackagePin& pin : spec.pins()) {
    const std::set<std::string> what = pin.pin().empty() ? hosts : std::set<std::string>{pin.pin()};
    for (const std::string& where : what)
      paragraphs.push_back(
          absl::StrCat("Explanation: Written by Muster.\nPackage: ",
                       pin.packages().empty() ? "*" : absl::StrJoin(pin.packages(), " "),
                       "\nPin: ", where, "\nPin-Priority: ", pin.priority(), "\n"));
  }
  return absl::StrJoin(paragraphs, "\n");
}

// 500 is dnf's default, 1000 its first; what is below 500 yields to every other repository.
int DnfPriority(int apt) {
  if (apt < kAptDefault) return kDnfDefault + kAptDefault - apt;
  return kDnfDefault -
         (apt - kAptDefault) * (kDnfDefault - kDnfFirst) / (kAptHighest - kAptDefault);
}

bool Excludes(const v1::PackagePin& pin) { return pin.priority() < 0; }

// The lines of a .repo file that do what the pins say.
std::string RenderDnfPins(const v1::PackageRepositoryResource& spec) {
  std::vector<std::string> include, exclude;
  int priority = kAptDefault;
  bool only_included = false;
  for (const v1::PackagePin& pin : spec.pins()) {
    if (pin.packages().empty()) {
      if (Excludes(pin)) {
        only_included = true;
      } else {
        priority = pin.priority();
      }
    } else {
      std::vector<std::string>& to = Excludes(pin) ? exclude : include;
      to.insert(to.end(), pin.packages().begin(), pin.packages().end());
      if (!Excludes(pin)) priority = pin.priority();
    }
  }
  std::string text;
  if (priority != kAptDefault) absl::StrAppend(&text, "priority=", DnfPriority(priority), "\n");
  if (only_included) absl::StrAppend(&text, "includepkgs=", absl::StrJoin(include, " "), "\n");
  if (!exclude.empty()) absl::StrAppend(&text, "excludepkgs=", absl::StrJoin(exclude, " "), "\n");
  return text;
}

absl::Status CheckWords(absl::string_view field, const Words& words, bool needed) {
  if (needed && words.empty()) return absl::InvalidArgumentError(absl::StrCat(field, ": is empty"));
  for (const std::string& word : words) {
    RETURN_IF_ERROR(CheckOneLine(field, word));
    if (word.empty() || word.find_first_of(" \t") != std::string::npos)
      return absl::InvalidArgumentError(absl::StrCat(field, ": '", word, "' is not one word"));
  }
  return absl::OkStatus();
}

absl::Status CheckPin(const v1::PackagePin& pin) {
  RETURN_IF_ERROR(CheckWords("pins: packages", pin.packages(), false));
  if (pin.priority() == 0)
    return absl::InvalidArgumentError("pins: a priority of 0 has no meaning");
  if (pin.pin().empty()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckOneLine("pins: pin", pin.pin()));
  for (const char* kind : {"release ", "version ", "origin "})
    if (absl::StartsWith(pin.pin(), kind)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pins: pin: '", pin.pin(),
                   "' must begin with release, version or origin; see "
                   "apt_preferences(5)"));
}

absl::Status CheckDnfPins(const v1::PackageRepositoryResource& spec) {
  bool only_included = false;
  std::set<int> priorities;
  for (const v1::PackagePin& pin : spec.pins()) {
    RETURN_IF_ERROR(CheckPin(pin));
    if (!pin.pin().empty())
      return absl::InvalidArgumentError(
          absl::StrCat("pins: pin: '", pin.pin(),
                       "' is apt's; dnf has priorities of whole repositories only: choose versions "
                       "by package: {version: …, hold: true}"));
    if (pin.priority() > kAptHighest)
      return absl::InvalidArgumentError(
          absl::StrCat("pins: priority ", pin.priority(),
                       ": dnf never downgrades by a priority; write at most 1000"));
    for (const std::string& name : pin.packages())
      if (name.find_first_of(",=") != std::string::npos)
        return absl::InvalidArgumentError(
            absl::StrCat("pins: packages: '", name, "' is not a name or a glob"));
    only_included |= pin.packages().empty() && Excludes(pin);
  }
  for (const v1::PackagePin& pin : spec.pins()) {
    if (!Excludes(pin)) priorities.insert(pin.priority());
    if (!pin.packages().empty() && !Excludes(pin) && !only_included)
      return absl::InvalidArgumentError(
          absl::StrCat("pins: dnf cannot prefer ", absl::StrJoin(pin.packages(), " "),
                       " alone: a priority is the whole repository's; leave packages out, or add "
                       "{priority: -1}, which hides all that no other pin names"));
  }
  if (priorities.size() > 1)
    return absl::InvalidArgumentError(
        "pins: dnf has one priority for a repository; write the same everywhere");
  if (only_included && priorities.empty())
    return absl::InvalidArgumentError(
        "pins: nothing of the repository is left; name the packages that it is for");
  return absl::OkStatus();
}

}  // namespace

RepositoryFiles AptRepositoryFiles(const v1::PackageRepositoryResource& spec) {
  RepositoryFiles files = {
      RepositoryFile{"source", absl::StrCat(kSourcesFolder, "/", spec.name(), ".sources"), ""},
      RepositoryFile{"pins", absl::StrCat(kPinFolder, "/", spec.name(), ".pref"), ""},
      RepositoryFile{"key", absl::StrCat(kKeyFolder, "/", spec.name(), ".asc"), ""}};
  if (spec.state() == v1::PRESENCE_ABSENT) return files;
  files[0].content = Render(spec, files[2].path);
  files[1].content = RenderPins(spec);
  if (!spec.key().empty())
    files[2].content = absl::StrCat(absl::StripAsciiWhitespace(spec.key()), "\n");
  return files;
}

RepositoryFiles DnfRepositoryFiles(const v1::PackageRepositoryResource& spec) {
  RepositoryFiles files = {
      RepositoryFile{"source", absl::StrCat(kRepoFolder, "/", spec.name(), ".repo"), ""},
      RepositoryFile{"pins", "", ""},
      RepositoryFile{"key", absl::StrCat(kRpmKeyFolder, "/", spec.name(), ".asc"), ""}};
  if (spec.state() == v1::PRESENCE_ABSENT) return files;
  if (!spec.key().empty())
    files[2].content = absl::StrCat(absl::StripAsciiWhitespace(spec.key()), "\n");
  const std::string key = spec.key().empty() ? spec.signed_by() : files[2].path;
  files[0].content =
      absl::StrCat("# Written by Muster.\n[", spec.name(), "]\nname=", spec.name(),
                   "\nbaseurl=", absl::StrJoin(spec.base_urls(), "\n        "),
                   "\nenabled=1\ngpgcheck=1\n", "repo_gpgcheck=", spec.signed_metadata() ? 1 : 0,
                   "\n", key.empty() ? "" : absl::StrCat("gpgkey=file://", key, "\n"),
                   // Otherwise dnf would go on without a repository that does not answer.
                   "skip_if_unavailable=0\n", RenderDnfPins(spec));
  return files;
}

absl::Status CheckAptRepository(const v1::PackageRepositoryResource& spec) {
  const bool present = spec.state() != v1::PRESENCE_ABSENT;
  if (present && !spec.base_urls().empty())
    return absl::InvalidArgumentError(
        "base_urls: this node's packages are apt's; write uris and suites");
  RETURN_IF_ERROR(CheckWords("types", spec.types(), false));
  RETURN_IF_ERROR(CheckWords("uris", spec.uris(), present));
  RETURN_IF_ERROR(CheckWords("suites", spec.suites(), present));
  RETURN_IF_ERROR(CheckWords("components", spec.components(), false));
  RETURN_IF_ERROR(CheckWords("architectures", spec.architectures(), false));
  for (const v1::PackagePin& pin : spec.pins()) RETURN_IF_ERROR(CheckPin(pin));
  return absl::OkStatus();
}

absl::Status CheckDnfRepository(const v1::PackageRepositoryResource& spec) {
  if (spec.state() == v1::PRESENCE_ABSENT) return absl::OkStatus();
  if (spec.base_urls().empty() && !spec.uris().empty())
    return absl::InvalidArgumentError("uris: this node's packages are dnf's; write base_urls");
  RETURN_IF_ERROR(CheckWords("base_urls", spec.base_urls(), true));
  RETURN_IF_ERROR(CheckOneLine("signed_by", spec.signed_by()));
  if (spec.signed_metadata() && spec.key().empty() && spec.signed_by().empty())
    return absl::InvalidArgumentError(
        "signed_metadata: needs the key that signs (key, key_file or signed_by)");
  return CheckDnfPins(spec);
}

}  // namespace muster::agent
