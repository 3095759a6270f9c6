#include "controller/snapshot/package_list.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "controller/artifact/blob_store.h"
#include "controller/snapshot/control_file.h"

namespace muster::controller::snapshot {
namespace {

// Ubuntu has a hundred thousand.
constexpr size_t kMaxPackages = 1'000'000;
constexpr size_t kMaxWord = 256;
constexpr size_t kColumns = 6;

bool IsShortWord(absl::string_view text) { return IsWord(text) && text.size() <= kMaxWord; }

bool IsWhole(const Package& package) {
  return IsShortWord(package.name) && IsShortWord(package.version) &&
         IsShortWord(package.architecture) && IsPlainPath(package.path) &&
         IsSha256(package.sha256) && package.size > 0;
}

absl::string_view PathOf(absl::string_view line) { return line.substr(0, line.find('\t')); }

std::optional<Package> FromLine(absl::string_view line) {
  const std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  Package package;
  if (columns.size() != kColumns || !absl::SimpleAtoi(columns[2], &package.size))
    return std::nullopt;
  package.path = std::string(columns[0]);
  package.sha256 = std::string(columns[1]);
  package.name = std::string(columns[3]);
  package.version = std::string(columns[4]);
  package.architecture = std::string(columns[5]);
  if (!IsWhole(package)) return std::nullopt;
  return package;
}

}  // namespace

absl::StatusOr<std::vector<Package>> ParsePackages(absl::string_view text) {
  std::vector<Package> packages;
  ControlReader reader(text);
  while (true) {
    ASSIGN_OR_RETURN(const Paragraph fields, reader.Next());
    if (fields.empty()) return packages;
    Package package;
    package.name = std::string(fields.Get("Package"));
    package.version = std::string(fields.Get("Version"));
    package.architecture = std::string(fields.Get("Architecture"));
    package.path = std::string(absl::StripPrefix(fields.Get("Filename"), "./"));
    package.sha256 = std::string(fields.Get("SHA256"));
    if (!absl::SimpleAtoi(fields.Get("Size"), &package.size) || !IsWhole(package)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "package '", PlainText(package.name, Lines::kOne, kMaxWord),
          "' lacks one of Package, Version, Architecture, Filename, Size and SHA256, or has one "
          "that cannot be"));
    }
    packages.push_back(std::move(package));
    if (packages.size() > kMaxPackages)
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxPackages, " packages"));
  }
}

absl::StatusOr<std::string> PackageList::Write(std::vector<Package> packages) {
  std::sort(packages.begin(), packages.end(),
            [](const Package& a, const Package& b) { return a.path < b.path; });
  std::string text;
  const Package* last = nullptr;
  for (const Package& package : packages) {
    if (last != nullptr && last->path == package.path) {
      if (last->sha256 == package.sha256 && last->size == package.size) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("the indexes name two different files at ", package.path));
    }
    last = &package;
    absl::StrAppend(&text, package.path, "\t", package.sha256, "\t", package.size, "\t",
                    package.name, "\t", package.version);
    absl::StrAppend(&text, "\t", package.architecture, "\n");
  }
  return text;
}

PackageList::PackageList(std::string text) : text_(std::move(text)) {
  lines_ = absl::StrSplit(text_, '\n', absl::SkipEmpty());
}

absl::StatusOr<std::shared_ptr<const PackageList>> PackageList::Read(std::string text) {
  std::shared_ptr<const PackageList> list(new PackageList(std::move(text)));
  absl::string_view last;
  for (const absl::string_view line : list->lines_) {
    if (!FromLine(line).has_value() || PathOf(line) <= last)
      return absl::InvalidArgumentError("a list of packages is damaged");
    last = PathOf(line);
  }
  return list;
}

std::optional<Package> PackageList::Find(absl::string_view path) const {
  const auto found = std::lower_bound(
      lines_.begin(), lines_.end(), path,
      [](absl::string_view line, absl::string_view wanted) { return PathOf(line) < wanted; });
  if (found == lines_.end() || PathOf(*found) != path) return std::nullopt;
  return FromLine(*found);
}

void PackageList::ForEach(absl::FunctionRef<void(const Package&)> visit) const {
  for (const absl::string_view line : lines_) visit(*FromLine(line));
}

}  // namespace muster::controller::snapshot
