#include "cli/site/site_words.h"

#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_system.h"
#include "common/yaml/document.h"

namespace muster::cli {
namespace {

namespace fs = std::filesystem;

// Limits, because somebody is waiting with a finger on the tab key.
constexpr size_t kMaxFiles = 500;
constexpr size_t kMaxFileBytes = 256 << 10;

void AddWords(const yaml::Node& value, std::set<std::string>& out) {
  for (const yaml::Node& item : value.items()) AddWords(item, out);
  for (const absl::string_view word : absl::StrSplit(value.text(), ',', absl::SkipEmpty()))
    out.emplace(absl::StripAsciiWhitespace(word));
}

// The words under `tags`, at any depth.
void AddTags(const yaml::Node& node, std::set<std::string>& out) {
  for (const yaml::Node& item : node.items()) AddTags(item, out);
  for (const yaml::Entry& entry : node.entries()) {
    if (entry.key == "tags") {
      AddWords(entry.value, out);
    } else {
      AddTags(entry.value, out);
    }
  }
}

}  // namespace

std::vector<std::string> SiteTags(const std::string& folder) {
  sys::RealFileSystem files;
  std::set<std::string> tags;
  std::error_code error;
  size_t seen = 0;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end && seen < kMaxFiles;
       it.increment(error)) {
    if (!it->is_regular_file(error) || it->path().extension() != ".yaml") continue;
    ++seen;
    const auto text = files.Read(it->path().string(), kMaxFileBytes);
    if (!text.ok()) continue;
    const auto document = yaml::Document::Parse(it->path().string(), *text);
    if (document.ok()) AddTags(document->root(), tags);
  }
  return {tags.begin(), tags.end()};
}

std::vector<std::string> SiteRoles(const std::string& folder) {
  std::set<std::string> roles = {"tasks"};
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "roles", error)) {
    if (entry.is_directory(error)) roles.insert(entry.path().filename().string());
  }
  return {roles.begin(), roles.end()};
}

}  // namespace muster::cli
