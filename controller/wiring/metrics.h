// The metrics of this controller, over HTTP.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/http/http_server.h"
#include "controller/metrics/call_durations.h"

namespace muster::controller {

struct Config;
struct Core;
struct Work;

// Reads the cluster when it is asked, at most once in kOldest. Thread-safe.
class MetricsPage {
 public:
  static constexpr absl::Duration kOldest = absl::Seconds(1);

  // The references must outlive the object.
  MetricsPage(Core& core, Work& work, const CallDurations& calls)
      : core_(core), work_(work), calls_(calls), started_at_(absl::Now()) {}

  // /metrics in Prometheus' format; 503 with the reason while the store does not answer.
  HttpReply Answer(absl::string_view path);

 private:
  absl::StatusOr<std::string> Render();

  Core& core_;
  Work& work_;
  const CallDurations& calls_;
  const absl::Time started_at_;
  absl::Mutex mutex_;
  std::string page_ ABSL_GUARDED_BY(mutex_);
  absl::Time rendered_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

// nullptr: the setting metrics_listen is "off". `page` must outlive the server.
absl::StatusOr<std::unique_ptr<HttpServer>> StartMetricsServer(const Config& config,
                                                               MetricsPage& page);

}  // namespace muster::controller
