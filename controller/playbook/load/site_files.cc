#include "controller/playbook/load/site_files.h"

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/text/nearest_word.h"

namespace muster::controller::playbook {
namespace {

// Whether a value on the line begins with "{{" outside quotes: YAML takes that for a map.
bool BeginsTemplateUnquoted(absl::string_view line) {
  for (size_t at = line.find("{{"); at != absl::string_view::npos; at = line.find("{{", at + 2)) {
    const absl::string_view before = absl::StripTrailingAsciiWhitespace(line.substr(0, at));
    if (before.empty() || absl::StrContains(":-[,", before.back())) return true;
  }
  return false;
}

// The line that the error "file:line:column: …" is about.
absl::string_view LineOf(absl::string_view text, absl::string_view path, absl::string_view error) {
  int number = 0;
  if (!absl::ConsumePrefix(&error, path) || !absl::ConsumePrefix(&error, ":") ||
      !absl::SimpleAtoi(error.substr(0, error.find(':')), &number)) {
    return "";
  }
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  return number >= 1 && static_cast<size_t>(number) <= lines.size() ? lines[number - 1] : "";
}

}  // namespace

absl::StatusOr<yaml::Document> ReadYaml(const FileTree& site, const std::string& path) {
  const auto found = site.find(path);
  if (found == site.end()) return absl::NotFoundError(NoFile(site, path));
  absl::StatusOr<yaml::Document> document = yaml::Document::Parse(path, found->second);
  if (!document.ok() &&
      BeginsTemplateUnquoted(LineOf(found->second, path, document.status().message()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        document.status().message(), "\n  a value that begins with {{ needs quotes: \"{{ … }}\""));
  }
  return document;
}

std::string NoFile(const FileTree& site, const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string name = path.substr(folder.size());
  const std::string hint = DidYouMean(name, FilesUnder(site, folder));
  return absl::StrCat("no file ", path, hint);
}

std::vector<std::string> FilesUnder(const FileTree& site, const std::string& folder) {
  std::vector<std::string> files;
  for (auto it = site.lower_bound(folder); it != site.end() && absl::StartsWith(it->first, folder);
       ++it) {
    files.push_back(it->first.substr(folder.size()));
  }
  return files;
}

}  // namespace muster::controller::playbook
