// The budget of one rendering, and whether it read a secret.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "controller/template/allowance.h"
#include "controller/template/template.h"

namespace muster::tmpl {

// Counts the steps and bytes of one rendering, and charges them to an allowance. The first error
// sticks: work continues with harmless results until its caller checks status(). Not thread-safe.
class Budget {
 public:
  // `allowance` limits this and other renderings together; may be nullptr. `file` is the
  // template's. Both must outlive the object.
  Budget(const Limits& limits, Allowance* allowance, absl::string_view file)
      : limits_(limits), allowance_(allowance), file_(file) {
    if (allowance_ != nullptr) limits_.max_steps += allowance_->more_of_each();
  }
  ~Budget() {
    if (allowance_ != nullptr) allowance_->Note(file_, steps_);
  }
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  // False when the steps are used up.
  bool Spend(size_t steps);
  // For going through `bytes` of a text once; false when the steps are used up.
  bool SpendScan(size_t bytes) { return Spend(bytes / 256); }
  // For a string of `bytes` that is about to be made; false when it would be too long.
  bool SpendText(size_t bytes);
  // For `more` bytes at the end of a text that has `size`; false when it would be too long.
  bool SpendMore(size_t size, size_t more);
  // False when `depth` is too deep for a value.
  bool Enter(int depth);
  const absl::Status& status() const { return status_; }
  const Limits& limits() const { return limits_; }

 private:
  bool Fail(absl::string_view message);

  Limits limits_;
  Allowance* const allowance_;
  const absl::string_view file_;
  size_t steps_ = 0;
  absl::Status status_;
};

// The context of an operation on values. Whatever reads the text of a secret sets `tainted`; the
// evaluator then makes the result a secret.
struct Context {
  Budget& budget;
  bool tainted = false;
};

}  // namespace muster::tmpl
