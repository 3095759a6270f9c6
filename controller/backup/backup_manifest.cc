#include "controller/backup/backup_manifest.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

using Json = nlohmann::ordered_json;

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

absl::Status NoManifest(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "its manifest.json ", why, ": the file is not a backup of a controller, or is damaged"));
}

}  // namespace

std::string ManifestToJson(const BackupManifest& manifest) {
  Json entries = Json::object();
  for (const auto& [name, entry] : manifest.entries)
    entries[name] = {{"size", entry.size}, {"sha256", entry.sha256}};
  const Json json = {{"muster_backup", kBackupVersion},   {"cluster", manifest.cluster},
                     {"created_at", manifest.created_at}, {"musterd", manifest.musterd_version},
                     {"keys", manifest.has_keys},         {"entries", entries}};
  return json.dump(1) + "\n";
}

absl::StatusOr<BackupManifest> ParseManifest(absl::string_view text) {
  const Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return NoManifest("is not JSON");
  const auto version = json.find("muster_backup");
  if (version == json.end() || !version->is_number_integer()) return NoManifest("has no version");
  if (version->get<int64_t>() != kBackupVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the backup has format ", version->get<int64_t>(),
                     "; this musterd reads format ", kBackupVersion,
                     ": restore it with the musterd that made it (", Text(json, "musterd"), ")"));
  }
  BackupManifest manifest;
  manifest.cluster = Text(json, "cluster");
  manifest.created_at = Text(json, "created_at");
  manifest.musterd_version = Text(json, "musterd");
  const auto keys = json.find("keys");
  if (keys == json.end() || !keys->is_boolean())
    return NoManifest("does not state whether keys follow");
  manifest.has_keys = keys->get<bool>();
  const auto entries = json.find("entries");
  if (entries == json.end() || !entries->is_object()) return NoManifest("has no entries");
  for (const auto& [name, value] : entries->items()) {
    const auto size = value.is_object() ? value.find("size") : value.end();
    if (size == value.end() || !size->is_number_unsigned() || Text(value, "sha256").size() != 64)
      return NoManifest(absl::StrCat("has a bad entry ", name));
    manifest.entries[name] = {size->get<uint64_t>(), Text(value, "sha256")};
  }
  return manifest;
}

}  // namespace muster::controller
