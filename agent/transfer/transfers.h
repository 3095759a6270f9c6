// Brings contents to this node, ahead of the steps that need them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/resources/blob_source.h"
#include "agent/transfer/blob_transport.h"
#include "agent/transfer/downloader.h"
#include "common/base/clock.h"
#include "common/base/worker.h"
#include "common/sys/file_system.h"

namespace muster::v1 {
class Plan;
class Step;
}  // namespace muster::v1

namespace muster::agent {

// Keeps contents as files by their digest, while an unfinished plan names them. One thread fetches
// what the plans will need, one content after the other; a step that needs a content waits for the
// running transfer, or fetches it itself. Parts survive the agent. Thread-safe.
class Transfers final : public BlobSource {
 public:
  // Whether a step has anything to do on this node; may read its disk.
  using IsNeeded = std::function<bool(const v1::Step&)>;
  using Plans = std::vector<std::shared_ptr<const v1::Plan>>;

  // `directory`: see Paths; must exist. All references outlive the object.
  Transfers(std::string directory, sys::FileSystem& files, BlobTransport& blobs,
            Downloader& downloader, Clock& clock);

  // Begins to fetch ahead.
  void Start(IsNeeded is_needed);
  // Ends what is under way; every Fetch() returns Cancelled from now on. Does not wait.
  void Stop() { worker_.RequestStop(); }
  // All plans that are not over. What no plan names any more goes. Does not block.
  void SetPlans(Plans plans);

  absl::StatusOr<std::string> Get(const std::string& sha256, uint64_t size) override;
  absl::StatusOr<StoredContent> Fetch(const Content& content, ApplyObserver& observer) override;

 private:
  // A content on its way.
  struct Transfer {
    bool done = false;
    std::string activity;
    std::optional<float> percent;
  };
  // A content that a plan will need.
  struct Job {
    std::shared_ptr<const v1::Plan> plan;
    const v1::Step* step = nullptr;
    Content content;
  };

  // Looks at new plans, or fetches the next content.
  absl::Time Step();
  void FetchAhead(const Job& job);
  void Reconcile(const Plans& plans);
  void Prune();
  absl::Status Bring(const Content& content, const TransferHooks& hooks);
  absl::Status FetchBlob(const Content& content, const std::string& part,
                         const TransferHooks& hooks);
  absl::StatusOr<bool> IsStored(const std::string& sha256, const TransferHooks& hooks);
  // nullptr: another thread was fetching it, and this one has waited for it.
  std::shared_ptr<Transfer> Claim(const std::string& sha256, ApplyObserver& observer);
  // Hooks that notify `observer` and all who wait for the transfer, and end it when the agent
  // stops.
  TransferHooks Hooks(Transfer& transfer, ApplyObserver& observer);
  void Finish(const std::string& sha256, Transfer& transfer);
  std::string PathOf(const std::string& sha256) const { return directory_ + "/" + sha256; }

  const std::string directory_;
  sys::FileSystem& files_;
  BlobTransport& blobs_;
  Downloader& downloader_;
  Clock& clock_;
  IsNeeded is_needed_;

  mutable absl::Mutex mutex_;
  std::optional<Plans> new_plans_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> wanted_ ABSL_GUARDED_BY(mutex_);  // digest → steps that name it
  std::deque<Job> queue_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::shared_ptr<Transfer>> active_ ABSL_GUARDED_BY(mutex_);  // by digest
  // Files whose digest was checked since the agent started, with their modification time.
  std::map<std::string, int64_t> verified_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<std::string, std::string>> tried_;  // plan, digest; the worker's own
  bool yields_the_disk_ = false;                         // the worker's own
  Worker worker_;
};

}  // namespace muster::agent
