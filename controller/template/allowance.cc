#include "controller/template/allowance.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::tmpl {

void Allowance::Note(absl::string_view file, size_t steps) {
  // Mostly the file of the call before: a file has many expressions.
  if (last_ == nullptr || last_->first != file) last_ = &*by_file_.try_emplace(file, 0).first;
  last_->second += steps;
  if (within_ != nullptr) within_->Note(file, steps);
}

std::string Allowance::Exceeded(absl::string_view file, size_t steps) {
  if (left_ > 0 && within_ != nullptr) return within_->Exceeded(file, steps);
  std::pair<absl::string_view, size_t> most = {file, steps};
  for (const auto& [name, spent] : by_file_) {
    const size_t all = spent + (name == file ? steps : 0);
    // Ties are resolved by name, so that every run gives the same text.
    if (all > most.second || (all == most.second && name < most.first)) most = {name, all};
  }
  return absl::StrCat(whose_, " take more than ", max_steps_, " steps together; most of them, ",
                      most.second, ", are those of ", most.first.empty() ? "one text" : most.first);
}

}  // namespace muster::tmpl
