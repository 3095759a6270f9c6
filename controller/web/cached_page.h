// What all who look at the page see, made once for all of them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}

namespace muster::controller {

struct RenderedPage {
  std::string text;
  std::string gzip;  // the same, compressed
  std::string etag;  // of the text: "\"5f0c…\""
};

// The page of a text.
RenderedPage Render(std::string text);
// In gzip's format.
std::string Gzip(absl::string_view text);

// Makes a page when it is asked for one, at most twice a second, and less often where making it
// takes long: a tenth of one processor at most goes into it, however many look. Thread-safe.
class CachedPage {
 public:
  static constexpr absl::Duration kOldest = absl::Milliseconds(500);
  static constexpr int kPauses = 9;  // so many times as long as the making took

  using Make = std::function<absl::StatusOr<std::string>()>;

  // `clock` must outlive the object.
  CachedPage(Clock& clock, Make make) : clock_(clock), make_(std::move(make)) {}

  // Never nullptr. An error of `make` is not kept.
  absl::StatusOr<std::shared_ptr<const RenderedPage>> Get();

 private:
  Clock& clock_;
  const Make make_;
  absl::Mutex mutex_;
  std::shared_ptr<const RenderedPage> page_ ABSL_GUARDED_BY(mutex_);
  absl::Time made_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  absl::Time good_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace muster::controller
