#include "controller/snapshot/pool_fetcher.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/http/later_reply.h"
#include "controller/snapshot/snapshot_store.h"
#include "controller/snapshot/upstream.h"

namespace muster::controller::snapshot {
namespace {

// As many as a mirror takes from one address without complaint.
constexpr size_t kTransfers = 4;
// A site's nodes ask for the same few hundred packages.
constexpr size_t kMaxJobs = 4096;

}  // namespace

PoolFetcher::PoolFetcher(SnapshotStore& store, sys::HttpClient& http, Clock& clock,
                         std::function<void(absl::string_view)> warn)
    : store_(store), http_(http), warn_(std::move(warn)) {
  for (size_t i = 0; i < kTransfers; ++i)
    workers_.push_back(std::make_unique<Worker>(clock, [this] { return Step(); }));
}

PoolFetcher::~PoolFetcher() { Stop(); }

void PoolFetcher::Start() {
  for (const auto& worker : workers_) worker->Start();
}

void PoolFetcher::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    is_stopping_ = true;
  }
  for (const auto& worker : workers_) worker->Stop();
  absl::flat_hash_map<std::string, Job> left;
  {
    absl::MutexLock lock(&mutex_);
    left.swap(jobs_);
    queue_.clear();
  }
  for (auto& [sha256, job] : left) {
    for (const auto& later : job.waiting)
      later->Finish({.status = 503, .body = "the controller is stopping\n"});
  }
}

bool PoolFetcher::IsStopping() const {
  absl::MutexLock lock(&mutex_);
  return is_stopping_;
}

HttpReply PoolFetcher::Answer(const Package& package) {
  const absl::StatusOr<int> fd = store_.OpenFile(package.sha256);
  if (!fd.ok()) return {.status = 502, .body = absl::StrCat(fd.status().message(), "\n")};
  return {.status = 200, .content_type = "application/vnd.debian.binary-package", .fd = *fd};
}

HttpReply PoolFetcher::Serve(const Package& package, const v1::SnapshotRepository& repository) {
  HttpReply reply;
  {
    absl::MutexLock lock(&mutex_);
    if (store_.Has(package.sha256)) return Answer(package);
    const bool is_new = jobs_.count(package.sha256) == 0;
    if (is_stopping_ || (is_new && jobs_.size() >= kMaxJobs))
      return {.status = 503, .body = "too many packages are being fetched; ask again later\n"};
    Job& job = jobs_[package.sha256];
    if (is_new) {
      job.package = package;
      job.uris = repository.uris();
      queue_.push_back(package.sha256);
    }
    reply.later = job.waiting.emplace_back(std::make_shared<LaterReply>());
  }
  for (const auto& worker : workers_) worker->Wake();
  return reply;
}

absl::Time PoolFetcher::Step() {
  Package package;
  google::protobuf::RepeatedPtrField<std::string> uris;
  {
    absl::MutexLock lock(&mutex_);
    if (is_stopping_ || queue_.empty()) return absl::InfiniteFuture();
    const Job& job = jobs_[queue_.front()];
    queue_.pop_front();
    package = job.package;
    uris = job.uris;
  }
  const absl::Status fetched = Fetch(package, uris);
  if (!fetched.ok() && !absl::IsCancelled(fetched))
    warn_(absl::StrCat("package ", package.path, " of a snapshot: ", fetched.message()));
  std::vector<std::shared_ptr<LaterReply>> waiting;
  {
    absl::MutexLock lock(&mutex_);
    const auto job = jobs_.find(package.sha256);
    waiting = std::move(job->second.waiting);
    jobs_.erase(job);
  }
  for (const auto& later : waiting) {
    later->Finish(fetched.ok()
                      ? Answer(package)
                      : HttpReply{.status = 502, .body = absl::StrCat(fetched.message(), "\n")});
  }
  return absl::InfinitePast();
}

absl::Status PoolFetcher::Fetch(const Package& package,
                                const google::protobuf::RepeatedPtrField<std::string>& uris) {
  RETURN_IF_ERROR(store_.CheckRoom(package.size));
  const IncomingFile incoming(store_.NewIncoming());
  RETURN_IF_ERROR(snapshot::Fetch(http_, uris, package.path, incoming.path(), package.size,
                                  [this] { return IsStopping(); }));
  const absl::Status kept = store_.Keep(incoming.path(), package.sha256, package.size);
  if (!absl::IsDataLoss(kept)) return kept;
  return Annotate(kept, "upstream's file is not the one that the signed index names");
}

}  // namespace muster::controller::snapshot
