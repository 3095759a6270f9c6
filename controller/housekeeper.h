// Removes rows and blobs that the store need not keep forever.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/strings/string_view.h"
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
  // An expired certificate is useless; `muster node show` and `muster user list` show it until
  // then. A node's is not removed before it expires: without its row a stolen one would pass for
  // the node's newest (see key_line.h).
  static constexpr absl::Duration kNodeCertificatesKept = absl::Hours(24 * 7);
  static constexpr absl::Duration kUserCertificatesKept = absl::Hours(24 * 30);
  // A content that no plan names any more; a plan is started within a day of its creation.
  static constexpr absl::Duration kBlobsKept = absl::Hours(24 * 30);
  static constexpr absl::Duration kInterval = absl::Hours(1);
  // A clock that is further ahead of what was known before may be wrong.
  static constexpr absl::Duration kLongestLeap = absl::Hours(24 * 7);

  // The references must outlive the object. `warn` is called with the reason why a round removes
  // nothing; it may be empty. Reads the store, so it belongs before what writes there.
  Housekeeper(Store& store, BlobStore& blobs, image::ImageStore& images, Clock& clock,
              std::function<void(absl::string_view)> warn = nullptr);

  // The first round is an hour later, in which a clock that was wrong at the start is put right.
  void Start() { worker_.Start(); }
  void Stop() { worker_.Stop(); }
  // One round, which Stop() cuts short. What the store refuses is tried an hour later. The first
  // round after a leap of the clock removes nothing: a wrong clock can be put right before the
  // next one, which takes the time as it is.
  void Clean();
  // A round when it is due; returns when the next is. Not to be called after Start(), whose thread
  // does.
  absl::Time Step();

 private:
  // Since the round before; warns.
  bool HasLeapt();
  void CleanRows();
  void CleanBlobs();

  Store& store_;
  BlobStore& blobs_;
  image::ImageStore& images_;
  Clock& clock_;
  const std::function<void(absl::string_view)> warn_;
  // The time of the round before, at first the newest in the store. The worker's own.
  absl::Time before_;
  bool has_begun_ = false;
  Worker worker_;
};

}  // namespace muster::controller
