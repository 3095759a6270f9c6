#include "controller/inventory/snapshot_source.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/plain_text.h"
#include "controller/inventory/builder.h"
#include "controller/inventory/names.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxText = 256;
constexpr size_t kMaxShown = 80;

std::string Shown(absl::string_view text) { return PlainText(text, Lines::kOne, kMaxShown); }

// Whether the text is a path of letters, digits and ".+_-" without "." and "..": what becomes a
// part of urls and of a node's list of sources.
bool IsPath(absl::string_view text) {
  if (text.size() > kMaxText) return false;
  for (const absl::string_view part : absl::StrSplit(text, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
    const bool is_word = std::all_of(part.begin(), part.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains(".+_-~", c);
    });
    if (!is_word) return false;
  }
  return true;
}

std::string CheckUri(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "http://") && !absl::ConsumePrefix(&rest, "https://"))
    return absl::StrCat("'", Shown(text), "' is not the address of a repository; the form is ",
                        "http://HOST/PATH or https://HOST/PATH");
  const bool is_plain = std::all_of(rest.begin(), rest.end(), [](char c) {
    return absl::ascii_isgraph(static_cast<unsigned char>(c));
  });
  const absl::string_view host = rest.substr(0, rest.find('/'));
  if (!is_plain || host.empty() || rest.size() > kMaxText || rest.find_first_of("?#") != rest.npos)
    return absl::StrCat("'", Shown(text), "' has no host, or blanks, a query or a fragment");
  // The whole address is shown to everybody who may see the inventory.
  if (absl::StrContains(host, '@'))
    return "the address of a repository contains a user; snapshots are of repositories without";
  return "";
}

std::string CheckSuite(absl::string_view text) {
  if (absl::EndsWith(text, "/"))
    return absl::StrCat("suite '", Shown(text), "' is a flat repository; snapshots need suites ",
                        "below dists/");
  if (IsPath(text)) return "";
  return absl::StrCat("'", Shown(text), "' is not the name of a suite, as in bookworm-updates");
}

std::string CheckComponent(absl::string_view text) {
  if (IsPath(text)) return "";
  return absl::StrCat("'", Shown(text), "' is not the name of a component, as in main");
}

std::string CheckArchitecture(absl::string_view text) {
  const bool is_word =
      !text.empty() && text.size() <= kMaxText && std::all_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return absl::ascii_islower(byte) || absl::ascii_isdigit(byte) || c == '-';
      });
  if (is_word && text != "all") return "";
  return absl::StrCat("'", Shown(text), "' is not an architecture of nodes, as in amd64");
}

// The keys that are lists.
struct ListKey {
  const char* key;
  std::vector<std::string> SnapshotSource::*field;
  std::string (*check)(absl::string_view text);
};
const ListKey kLists[] = {
    {"uris", &SnapshotSource::uris, CheckUri},
    {"suites", &SnapshotSource::suites, CheckSuite},
    {"components", &SnapshotSource::components, CheckComponent},
    {"architectures", &SnapshotSource::architectures, CheckArchitecture},
};

}  // namespace

void InventoryBuilder::ReadSnapshot(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "snapshot repository");
  auto source = std::make_shared<SnapshotSource>();
  source->name = entry.key;
  source->place = origin.ToPlace();
  for (const ListKey& row : kLists) {
    std::vector<std::string>& list = (*source).*row.field;
    for (const Reference& word : ReadReferences(document, reader, row.key)) {
      errors_.Check(word.origin, row.check(word.text));
      if (std::find(list.begin(), list.end(), word.text) != list.end())
        errors_.Add(word.origin, absl::StrCat("'", Shown(word.text), "' occurs twice"));
      list.push_back(word.text);
    }
    if (list.empty() && entry.value.IsMap())
      errors_.Add(origin,
                  absl::StrCat("snapshot repository ", Shown(entry.key), " needs '", row.key, "'"));
  }
  if (const auto keyring = ReadReference(document, reader, "signed_by")) {
    source->signed_by = keyring->text;
    absl::string_view path = keyring->text;
    if (!absl::ConsumePrefix(&path, "/") || !IsPath(path))
      errors_.Add(keyring->origin,
                  absl::StrCat("'", Shown(keyring->text), "' is not the path of a keyring, as in ",
                               "/usr/share/keyrings/debian-archive-keyring.gpg"));
  }
  if (const auto key = ReadReference(document, reader, "key")) {
    source->key = key->text;
    if (!absl::StrContains(key->text, "-----BEGIN PGP PUBLIC KEY BLOCK-----"))
      errors_.Add(key->origin,
                  "'key' is not a public key in ASCII armor; write the file's contents below "
                  "`key: |`");
  }
  errors_.Add(reader.Finish());
  if (!entry.value.IsMap()) return;
  if (source->signed_by.empty() == source->key.empty())
    errors_.Add(origin, absl::StrCat("snapshot repository ", Shown(entry.key),
                                     " needs either signed_by, the path of a keyring, or key"));
  if (!errors_.Check(origin, CheckName("snapshot repository", source->name))) return;
  auto& known = inventory_.snapshots_;
  const auto same = [&](const auto& other) { return other->name == source->name; };
  if (const auto first = std::find_if(known.begin(), known.end(), same); first != known.end()) {
    errors_.Add(origin, absl::StrCat("duplicate snapshot repository ", source->name, ", first in ",
                                     (*first)->place.ToString()));
    return;
  }
  if (known.size() == kMaxSnapshotSources) {
    errors_.Add(origin, absl::StrCat("more than ", kMaxSnapshotSources, " snapshot repositories"));
    return;
  }
  known.push_back(std::move(source));
}

nlohmann::ordered_json ToValue(const SnapshotSource& source) {
  nlohmann::ordered_json value;
  for (const ListKey& row : kLists) value[row.key] = source.*row.field;
  if (!source.signed_by.empty()) value["signed_by"] = source.signed_by;
  if (!source.key.empty()) value["key"] = source.key;
  return value;
}

}  // namespace muster::controller
