// A step budget that many renderings share.
#pragma once

#include <cstddef>
#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"

namespace muster::tmpl {

// The steps that are left to the templates of one request, or of a part of it. Limits bounds one
// rendering; this bounds, for example, a hundred that each stop just short of their limit. Not
// thread-safe.
class Allowance {
 public:
  // Each rendering may take `more_of_each` steps beyond its Limits. `whose` is for the message:
  // "the templates of node c001". Steps are also spent from `within`, which may be nullptr and must
  // outlive the object.
  Allowance(size_t max_steps, size_t more_of_each, std::string whose, Allowance* within = nullptr)
      : max_steps_(max_steps),
        more_of_each_(more_of_each),
        left_(max_steps),
        whose_(std::move(whose)),
        within_(within) {}
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;

  // False when fewer steps are left, here or in `within`.
  bool Spend(size_t steps) {
    if (steps > left_) {
      left_ = 0;
      return false;
    }
    left_ -= steps;
    return within_ == nullptr || within_->Spend(steps);
  }
  // Records what a rendering of `file` has spent, for the message.
  void Note(absl::string_view file, size_t steps);
  // The reason why Spend() refused a rendering of `file` that has spent `steps` so far: names the
  // file that took most.
  std::string Exceeded(absl::string_view file, size_t steps);

  size_t max_steps() const { return max_steps_; }
  size_t more_of_each() const { return more_of_each_; }
  size_t spent() const { return max_steps_ - left_; }

 private:
  const size_t max_steps_;
  const size_t more_of_each_;
  size_t left_;
  const std::string whose_;
  Allowance* const within_;
  using StepsByFile = absl::node_hash_map<std::string, size_t>;
  StepsByFile by_file_;
  StepsByFile::value_type* last_ = nullptr;  // that Note() was about
};

}  // namespace muster::tmpl
