// Something that many look at and that takes a while to make.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/clock.h"

namespace muster::controller {

// Makes a T when it is asked for one and the last is too old, and less often where making it takes
// long: a tenth of one processor at most goes into it, however many look. Thread-safe.
template <typename T>
class Cached {
 public:
  static constexpr int kPauses = 9;  // so many times as long as the making took

  // `before`: the last one, nullptr: there is none. May return it again.
  using Make =
      std::function<absl::StatusOr<std::shared_ptr<const T>>(std::shared_ptr<const T> before)>;

  // `clock` must outlive the object. `prepare` is called before `make`, and its time does not
  // count: it may have something else made that `make` looks at.
  Cached(
      Clock& clock, absl::Duration oldest, Make make, std::function<void()> prepare = [] {})
      : clock_(clock), oldest_(oldest), make_(std::move(make)), prepare_(std::move(prepare)) {}

  // Never nullptr. An error of `make` is not kept.
  absl::StatusOr<std::shared_ptr<const T>> Get() {
    absl::MutexLock lock(&mutex_);
    if (const absl::Time now = clock_.Now();
        last_ != nullptr && now >= made_at_ && now < good_until_) {
      return last_;
    }
    prepare_();
    const absl::Time begin = clock_.Now();
    absl::StatusOr<std::shared_ptr<const T>> made = make_(last_);
    if (!made.ok()) return made.status();
    last_ = *std::move(made);
    made_at_ = clock_.Now();
    good_until_ = made_at_ + std::max(oldest_, kPauses * (made_at_ - begin));
    return last_;
  }

 private:
  Clock& clock_;
  const absl::Duration oldest_;
  const Make make_;
  const std::function<void()> prepare_;
  absl::Mutex mutex_;
  std::shared_ptr<const T> last_ ABSL_GUARDED_BY(mutex_);
  absl::Time made_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time good_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace muster::controller
