#include "controller/playbook/errors.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace muster::controller::playbook {

bool ErrorList::Add(const absl::Status& status) {
  if (status.ok()) return true;
  std::string message(status.message());
  if (std::find(messages_.begin(), messages_.end(), message) != messages_.end()) return false;
  if (messages_.empty()) code_ = status.code();
  if (messages_.size() < kShown) {
    messages_.push_back(std::move(message));
  } else {
    ++more_;
  }
  return false;
}

absl::Status ErrorList::ToStatus() const {
  if (messages_.empty()) return absl::OkStatus();
  std::string all = absl::StrJoin(messages_, "\n\n");
  if (more_ > 0) absl::StrAppend(&all, "\n\n… and ", more_, " more errors");
  return absl::Status(code_, all);
}

}  // namespace muster::controller::playbook
