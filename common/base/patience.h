// How long to wait for an answer that others wait for, too.
#pragma once

#include <algorithm>

#include "absl/time/time.h"

namespace muster {

// A server that is busy with thousands of clients answers late, and a client that gives up and
// comes again only adds work. Each answer that does not come therefore doubles the time for the
// next. Not thread-safe.
class Patience {
 public:
  Patience(absl::Duration first, absl::Duration longest)
      : first_(first), longest_(longest), span_(first) {}

  // How long to wait for the next answer.
  absl::Duration span() const { return span_; }
  void OnNoAnswer() { span_ = std::min(span_ * 2, longest_); }
  void OnAnswer() { span_ = first_; }

 private:
  absl::Duration first_;
  absl::Duration longest_;
  absl::Duration span_;
};

}  // namespace muster
