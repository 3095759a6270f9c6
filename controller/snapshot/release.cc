#include "controller/snapshot/release.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "controller/artifact/blob_store.h"
#include "controller/snapshot/control_file.h"

namespace muster::controller::snapshot {
namespace {

// Debian has a few thousand.
constexpr size_t kMaxFiles = 100'000;
constexpr absl::string_view kForms[] = {".xz", ".gz", ""};
constexpr absl::string_view kOtherForms[] = {".xz", ".bz2", ".gz", ""};

absl::StatusOr<std::optional<absl::Time>> ReadTime(const Paragraph& release,
                                                   absl::string_view field) {
  const absl::string_view text = release.Get(field);
  if (text.empty()) return std::optional<absl::Time>();
  absl::Time time;
  std::string error;
  // "Sat, 09 Nov 2026 09:46:22 UTC"; some write "+0000".
  if (absl::ParseTime("%a, %d %b %E4Y %H:%M:%S UTC", text, &time, &error) ||
      absl::ParseTime("%a, %d %b %E4Y %H:%M:%S GMT", text, &time, &error) ||
      absl::ParseTime("%a, %d %b %E4Y %H:%M:%S %z", text, &time, &error)) {
    return std::optional<absl::Time>(time);
  }
  return absl::InvalidArgumentError(absl::StrCat("its ", field, " is not a time"));
}

}  // namespace

bool IsPackageIndex(absl::string_view path) {
  return absl::StartsWith(path.substr(path.rfind('/') + 1), "Packages");
}

absl::StatusOr<Release> ParseRelease(absl::string_view text) {
  ASSIGN_OR_RETURN(const Paragraph fields, ControlReader(text).Next());
  Release release;
  ASSIGN_OR_RETURN(release.date, ReadTime(fields, "Date"));
  ASSIGN_OR_RETURN(release.valid_until, ReadTime(fields, "Valid-Until"));
  release.has_by_hash = fields.Get("Acquire-By-Hash") == "yes";
  const std::vector<absl::string_view> architectures =
      absl::StrSplit(fields.Get("Architectures"), ' ', absl::SkipWhitespace());
  release.all_is_apart =
      std::find(architectures.begin(), architectures.end(), "all") != architectures.end() &&
      fields.Get("No-Support-for-Architecture-all") != "Packages";
  for (const absl::string_view line : absl::StrSplit(fields.Get("SHA256"), '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
    if (words.empty()) continue;
    IndexFile file;
    if (words.size() != 3 || !IsSha256(words[0]) || !absl::SimpleAtoi(words[1], &file.size) ||
        !IsPlainPath(words[2])) {
      return absl::InvalidArgumentError(
          "a line of its SHA256 does not have the form 'digest size path'");
    }
    file.sha256 = std::string(words[0]);
    file.path = std::string(words[2]);
    release.files.emplace(file.path, std::move(file));
    if (release.files.size() > kMaxFiles)
      return absl::InvalidArgumentError(absl::StrCat("it names more than ", kMaxFiles, " files"));
  }
  if (release.files.empty()) return absl::InvalidArgumentError("it has no SHA256 of indexes");
  return release;
}

absl::StatusOr<std::vector<IndexFile>> ChooseIndexes(
    const Release& release, const std::vector<std::string>& components,
    const std::vector<std::string>& architectures) {
  std::vector<IndexFile> chosen;
  // Returns whether the suite has it.
  const auto choose = [&](absl::string_view base, absl::Span<const absl::string_view> forms) {
    for (const absl::string_view form : forms) {
      const auto found = release.files.find(absl::StrCat(base, form));
      if (found == release.files.end()) continue;
      chosen.push_back(found->second);
      return true;
    }
    return false;
  };
  for (const std::string& component : components) {
    for (const std::string& architecture : architectures) {
      const std::string base = absl::StrCat(component, "/binary-", architecture, "/Packages");
      if (!choose(base, kForms))
        return absl::NotFoundError(absl::StrCat(
            "it has no index ", base, "; check the components and architectures in 'snapshots'"));
    }
    if (release.all_is_apart) choose(absl::StrCat(component, "/binary-all/Packages"), kForms);
  }
  std::set<std::string> others;  // without the ends of their forms
  for (const std::string& component : components) {
    std::vector<std::string> prefixes = {absl::StrCat(component, "/i18n/Translation-")};
    for (const std::string& architecture : architectures)
      prefixes.push_back(absl::StrCat(component, "/cnf/Commands-", architecture));
    for (const std::string& prefix : prefixes) {
      for (auto file = release.files.lower_bound(prefix);
           file != release.files.end() && absl::StartsWith(file->first, prefix); ++file) {
        others.insert(file->first.substr(0, file->first.find('.', prefix.size())));
      }
    }
  }
  for (const std::string& base : others) choose(base, kOtherForms);
  return chosen;
}

}  // namespace muster::controller::snapshot
