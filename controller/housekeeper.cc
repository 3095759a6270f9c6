#include "controller/housekeeper.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
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

// When the store was last told of anything; `now` where nothing can be read.
absl::Time NewestTime(Store& store, absl::Time now) {
  absl::Time newest = absl::InfinitePast();
  const absl::Status read = store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<EventRecord> events, txn.events().List(1, 0));
    if (!events.empty()) newest = events.front().time;
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes)
      newest = std::max(newest, node.last_seen_at.value_or(newest));
    return absl::OkStatus();
  });
  return read.ok() && newest != absl::InfinitePast() ? newest : now;
}

std::string Minute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

}  // namespace

Housekeeper::Housekeeper(Store& store, BlobStore& blobs, image::ImageStore& images, Clock& clock,
                         std::function<void(absl::string_view)> warn)
    : store_(store),
      blobs_(blobs),
      images_(images),
      clock_(clock),
      warn_(std::move(warn)),
      before_(NewestTime(store, clock.Now())),
      worker_(clock, [this] { return Step(); }) {}

absl::Time Housekeeper::Step() {
  if (std::exchange(has_begun_, true)) {
    Clean();
  } else if (clock_.Now() >= before_) {  // one that is behind does not leap when it is put right
    HasLeapt();
  }
  return clock_.Now() + kInterval;
}

bool Housekeeper::HasLeapt() {
  const absl::Time now = clock_.Now();
  const absl::Time before = std::exchange(before_, now);
  if (now - before <= kLongestLeap) return false;
  if (warn_)
    warn_(absl::StrCat("the clock says ", Minute(now), ", but the newest time known before is ",
                       Minute(before),
                       ": nothing old is removed for an hour; set the clock before that if it is "
                       "wrong (timedatectl)"));
  return true;
}

void Housekeeper::Clean() {
  if (HasLeapt()) return;
  CleanRows();
  CleanBlobs();
  images_.Sweep(clock_.Now()).status().IgnoreError();  // an hour later again
}

void Housekeeper::CleanRows() {
  const absl::Time now = clock_.Now();
  uint64_t removed = 1;
  while (removed > 0 && !worker_.is_stopping()) {
    const absl::Status cleaned = store_.Update([&](Transaction& txn) -> absl::Status {
      RETURN_IF_ERROR(txn.certificates()
                          .RemoveExpired(now - kNodeCertificatesKept, now - kUserCertificatesKept)
                          .status());
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
