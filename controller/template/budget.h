// What one rendering may still spend, and whether a secret was read.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "controller/template/template.h"

namespace muster::tmpl {

// Values nested deeper than this are refused, so that recursion over them is bounded.
inline constexpr int kMaxValueDepth = 100;

// Counts the steps and bytes of one rendering. The first excess sticks: work goes on with
// harmless results until its caller looks at status(). Not thread-safe.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  // False when the steps are used up.
  bool Spend(size_t steps);
  // For a string of `bytes` about to be made; false when it would be too long.
  bool SpendText(size_t bytes);
  // False when `depth` is too deep for a value.
  bool Enter(int depth);
  const absl::Status& status() const { return status_; }
  const Limits& limits() const { return limits_; }

 private:
  bool Fail(absl::string_view message);

  const Limits limits_;
  size_t steps_ = 0;
  absl::Status status_;
};

// What an operation on values needs beside the values. `tainted` is set by whatever reads the
// text of a secret; the evaluator then makes the result a secret.
struct Context {
  Budget& budget;
  bool tainted = false;
};

}  // namespace muster::tmpl
