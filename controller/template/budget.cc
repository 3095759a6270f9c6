#include "controller/template/budget.h"

#include "absl/strings/str_cat.h"
#include "common/value/json_text.h"

namespace muster::tmpl {

bool Budget::Spend(size_t steps) {
  if (steps > limits_.max_steps - steps_) {
    steps_ = limits_.max_steps;
    return Fail(absl::StrCat("the template takes more than ", limits_.max_steps, " steps"));
  }
  if (allowance_ != nullptr && !allowance_->Spend(steps))
    return Fail(allowance_->Exceeded(file_, steps_));
  steps_ += steps;
  return true;
}

bool Budget::SpendText(size_t bytes) {
  if (bytes > limits_.max_output) {
    return Fail(absl::StrCat("a text grows beyond ", limits_.max_output, " bytes"));
  }
  return SpendScan(bytes);
}

bool Budget::SpendMore(size_t size, size_t more) {
  return size + more > limits_.max_output ? SpendText(size + more) : SpendScan(more);
}

bool Budget::Enter(int depth) {
  if (depth <= kMaxValueDepth) return true;
  return Fail(absl::StrCat("a value is nested deeper than ", kMaxValueDepth, " levels"));
}

bool Budget::Fail(absl::string_view message) {
  if (status_.ok()) status_ = absl::ResourceExhaustedError(message);
  return false;
}

}  // namespace muster::tmpl
