#include "controller/playbook/errors.h"

#include <algorithm>

#include "common/base/text/joined_errors.h"

namespace muster::controller::playbook {

bool ErrorList::Add(const absl::Status& status) {
  if (status.ok()) return true;
  std::string message(status.message());
  if (std::find(messages_.begin(), messages_.end(), message) != messages_.end()) return false;
  if (messages_.empty()) code_ = status.code();
  if (messages_.size() < kMaxJoinedErrors) {
    messages_.push_back(std::move(message));
  } else {
    ++more_;
  }
  return false;
}

absl::Status ErrorList::ToStatus() const { return JoinErrors(code_, {messages_, more_}, "\n\n"); }

}  // namespace muster::controller::playbook
