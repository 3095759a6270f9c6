#include "controller/template/folder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/text/nearest_word.h"

namespace muster::tmpl {

void TemplateFolder::Add(const std::string& name, absl::string_view text, SourcePosition position) {
  files_.insert_or_assign(name, File{std::string(text), std::move(position)});
}

absl::StatusOr<Template> TemplateFolder::Parse(absl::string_view name) {
  const auto known = parsed_.find(name);
  if (known != parsed_.end()) return known->second;
  const auto file = files_.find(name);
  if (file == files_.end()) {
    std::vector<std::string> names;
    for (const auto& [other, unused] : files_) names.push_back(other);
    return absl::NotFoundError(
        absl::StrCat("no template '", name, "' in this folder", DidYouMean(name, names)));
  }
  const auto first = std::find(open_.begin(), open_.end(), name);
  if (first != open_.end()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", name, "' includes itself: ", absl::StrJoin(first, open_.end(), ", which includes "),
        ", which includes ", name));
  }
  if (open_.size() > static_cast<size_t>(kMaxIncludeDepth)) {
    return absl::FailedPreconditionError(
        absl::StrCat("includes are nested deeper than ", kMaxIncludeDepth, " templates"));
  }
  open_.emplace_back(name);
  absl::StatusOr<Template> parsed =
      Template::Parse(file->second.text, file->second.position, {},
                      [this](absl::string_view included) { return Parse(included); });
  open_.pop_back();
  parsed_.emplace(name, parsed);
  return parsed;
}

}  // namespace muster::tmpl
