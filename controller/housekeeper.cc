#include "controller/housekeeper.h"

#include <string>

#include "absl/status/status.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/artifact/blob_store.h"
#include "controller/blob_retention.h"
#include "controller/image/image_store.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

// Takes some milliseconds.
constexpr uint32_t kRowsAtATime = 2000;

}  // namespace

void Housekeeper::Clean() {
  CleanRows();
  CleanBlobs();
  images_.Sweep(clock_.Now()).status().IgnoreError();  // an hour later again
}

void Housekeeper::CleanRows() {
  const absl::Time now = clock_.Now();
  uint64_t removed = 1;
  while (removed > 0 && !worker_.is_stopping()) {
    const absl::Status cleaned = store_.Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.certificates().RemoveExpired(now - kCertificatesKept).status());
      ASSIGN_OR_RETURN(removed,
                       txn.step_results().RemoveOld(now - kResultsKept, kMaxResults, kRowsAtATime));
      // Measurements are used for comparison for a long time; verdicts stay forever.
      ASSIGN_OR_RETURN(const uint64_t checks, txn.validation_checks().RemoveResults(
                                                  now - kCheckResultsKept, kRowsAtATime));
      ASSIGN_OR_RETURN(
          const uint64_t events,
          txn.health().RemoveEvents(now - kHealthEventsKept, kMaxHealthEvents, kRowsAtATime));
      removed += checks + events;
      return absl::OkStatus();
    });
    if (!cleaned.ok()) return;
  }
}

void Housekeeper::CleanBlobs() {
  const absl::Time time = clock_.Now() - kBlobsKept;
  // List the blobs first: a blob that is referred to from now on is refreshed before that.
  const auto blobs = blobs_.List();
  if (!blobs.ok()) return;
  const auto referred = ReferredBlobs(store_);
  if (!referred.ok()) return;
  for (const std::string& sha256 : UnusedBlobs(*blobs, *referred, time)) {
    if (worker_.is_stopping()) return;
    blobs_.RemoveIfOlder(sha256, time).status().IgnoreError();  // an hour later again
  }
}

}  // namespace muster::controller
