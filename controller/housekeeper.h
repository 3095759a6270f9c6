// Removes rows and blobs that the store need not keep forever.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/base/worker.h"

namespace muster::controller {

class BlobStore;
class Store;
namespace image {
class ImageStore;
}

// Removes, once an hour, what nobody will ask for again, artifacts that no image names among them:
// a little at a time, so that the store is free for others in between. Runs, the outcomes of their
// nodes and the audit log are kept.
class Housekeeper {
 public:
  // A run's step results are removed this long after its end, or earlier when there are too many
  // newer ones.
  static constexpr absl::Duration kResultsKept = absl::Hours(24 * 90);
  static constexpr absl::Duration kCheckResultsKept = absl::Hours(24 * 400);
  static constexpr uint64_t kMaxResults = 5'000'000;
  // Changes of nodes' conditions.
  static constexpr absl::Duration kHealthEventsKept = absl::Hours(24 * 90);
  static constexpr uint64_t kMaxHealthEvents = 1'000'000;
  // An expired certificate is useless; `muster user list` shows it until then.
  static constexpr absl::Duration kCertificatesKept = absl::Hours(24 * 30);
  // A content that no plan names any more; a plan is started within a day of its creation.
  static constexpr absl::Duration kBlobsKept = absl::Hours(24 * 30);
  static constexpr absl::Duration kInterval = absl::Hours(1);

  // The references must outlive the object.
  Housekeeper(Store& store, BlobStore& blobs, image::ImageStore& images, Clock& clock)
      : store_(store), blobs_(blobs), images_(images), clock_(clock), worker_(clock, [this] {
          Clean();
          return clock_.Now() + kInterval;
        }) {}

  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }
  // One round, which Stop() cuts short. What the store refuses is tried an hour later.
  void Clean();

 private:
  void CleanRows();
  void CleanBlobs();

  Store& store_;
  BlobStore& blobs_;
  image::ImageStore& images_;
  Clock& clock_;
  Worker worker_;
};

}  // namespace muster::controller
