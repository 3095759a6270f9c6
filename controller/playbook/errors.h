// Collects errors with their places, so that one load shows all of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace muster::controller::playbook {

class ErrorList {
 public:
  // Keeps equal messages once: an included file may be read several times. Returns whether `status`
  // was OK.
  bool Add(const absl::Status& status);

  bool empty() const { return messages_.empty(); }
  // OK; or the first error's code as JoinErrors() makes it, one error per paragraph.
  absl::Status ToStatus() const;

 private:
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::vector<std::string> messages_;
  size_t more_ = 0;
};

}  // namespace muster::controller::playbook
