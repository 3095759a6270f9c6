#include "agent/sys/apt/dpkg_status.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace muster::agent {
namespace {

struct Stanza {
  std::string package, status, version, architecture, provides;
};

struct Field {
  absl::string_view prefix;
  std::string Stanza::*member;
};

// The few fields of a stanza that we read; the rest (above all descriptions) is most of the file.
const Field kFields[] = {{"Package:", &Stanza::package},
                         {"Status:", &Stanza::status},
                         {"Version:", &Stanza::version},
                         {"Architecture:", &Stanza::architecture},
                         {"Provides:", &Stanza::provides}};

constexpr absl::string_view kHalfDone[] = {"half-installed", "unpacked", "half-configured",
                                           "triggers-awaited", "triggers-pending"};

Stanza ParseStanza(absl::string_view text) {
  Stanza stanza;
  for (const absl::string_view line : absl::StrSplit(text, '\n'))
    for (const Field& field : kFields)
      if (absl::StartsWith(line, field.prefix))
        stanza.*field.member =
            std::string(absl::StripAsciiWhitespace(line.substr(field.prefix.size())));
  return stanza;
}

}  // namespace

DpkgStatus DpkgStatus::Parse(absl::string_view text) {
  DpkgStatus result;
  for (const absl::string_view part : absl::StrSplit(text, "\n\n")) {
    const Stanza stanza = ParseStanza(part);
    // "install ok installed": the wanted state, whether it is broken, the actual state.
    const std::vector<absl::string_view> words = absl::StrSplit(stanza.status, ' ');
    if (stanza.package.empty() || words.size() != 3) continue;
    for (const absl::string_view state : kHalfDone)
      if (words[2] == state) result.half_done_.push_back(stanza.package);
    const std::string with_architecture = absl::StrCat(stanza.package, ":", stanza.architecture);
    for (const std::string& name : {stanza.package, with_architecture}) {
      if (words[0] == "hold") result.held_.insert(name);
      if (words[2] == "config-files") result.configuration_only_.insert(name);
    }
    // A pending trigger leaves a package usable and installed.
    if (words[2] != "installed" && !absl::StartsWith(words[2], "triggers-")) continue;
    result.versions_[stanza.package] = stanza.version;
    result.versions_[with_architecture] = stanza.version;
    for (absl::string_view name : absl::StrSplit(stanza.provides, ',', absl::SkipWhitespace())) {
      name = absl::StripAsciiWhitespace(name);
      result.provided_.emplace(name.substr(0, name.find_first_of(" (")));
    }
  }
  return result;
}

std::string DpkgStatus::InstalledVersion(const std::string& name) const {
  const auto it = versions_.find(name);
  return it == versions_.end() ? "" : it->second;
}

}  // namespace muster::agent
