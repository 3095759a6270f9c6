#include "agent/transfer/transfers.h"

#include <linux/ioprio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/resources/content.h"
#include "agent/resources/resource.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/atomic_write.h"
#include "common/sys/large_file.h"
#include "muster/v1/plan.pb.h"

namespace muster::agent {
namespace {

constexpr char kPart[] = ".part";
// How long a part of a download that no plan names is kept: the next apply may continue it.
constexpr absl::Duration kKeepParts = absl::Hours(24);
constexpr absl::Duration kLookEvery = absl::Milliseconds(200);

// For this thread only: lowest I/O priority, behind all other readers and writers.
void YieldTheDisk() {
  constexpr int kLowestBestEffort = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 7);
  (void)::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, kLowestBestEffort);
}

// "": the name contains no digest.
std::string DigestIn(const std::string& name) {
  const size_t start = name.find_first_not_of('.');
  if (start == std::string::npos || name.size() - start < 64) return "";
  std::string digest = name.substr(start, 64);
  return CheckSha256("name", digest).ok() ? digest : "";
}

class Silent final : public ApplyObserver {
 public:
  void OnActivity(absl::string_view activity, std::optional<float> percent) override {}
  void OnOutput(absl::string_view text) override {}
};

absl::Status Stopped() {
  return absl::CancelledError("the agent is stopping; the transfer continues after its restart");
}

}  // namespace

Transfers::Transfers(std::string directory, sys::FileSystem& files, BlobTransport& blobs,
                     Downloader& downloader, Clock& clock)
    : directory_(std::move(directory)),
      files_(files),
      blobs_(blobs),
      downloader_(downloader),
      clock_(clock),
      worker_(clock, [this] { return Step(); }) {}

void Transfers::Start(IsNeeded is_needed) {
  is_needed_ = std::move(is_needed);
  worker_.Start();
}

void Transfers::SetPlans(Plans plans) {
  absl::MutexLock lock(&mutex_);
  // Done here at once, and not by the thread: a step must not move away content that another step
  // will need.
  wanted_.clear();
  for (const auto& plan : plans) {
    for (const v1::RolePlan& role : plan->roles()) {
      for (const auto* steps : {&role.steps(), &role.handlers()}) {
        for (const v1::Step& step : *steps) {
          for (const Content& content : ContentsOf(step)) ++wanted_[content.sha256];
        }
      }
    }
  }
  new_plans_ = std::move(plans);
  worker_.Wake();
}

void Transfers::Reconcile(const Plans& plans) {
  Prune();
  std::deque<Job> queue;
  std::set<std::pair<std::string, std::string>> tried;
  for (const auto& plan : plans) {
    if (plan->check_only()) continue;
    for (const v1::RolePlan& role : plan->roles()) {
      for (const auto* steps : {&role.steps(), &role.handlers()}) {
        for (const v1::Step& step : *steps) {
          for (Content& content : ContentsOf(step)) {
            if (!CheckContent(content).ok()) continue;
            std::pair<std::string, std::string> key(plan->plan_id(), content.sha256);
            if (tried_.count(key) == 0) queue.push_back({plan, &step, std::move(content)});
            tried.insert(std::move(key));
          }
        }
      }
    }
  }
  tried_ = std::move(tried);
  absl::MutexLock lock(&mutex_);
  // Jobs that were queued before and have not had their turn stay first.
  queue_.erase(std::remove_if(queue_.begin(), queue_.end(),
                              [this](const Job& job) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                                return wanted_.count(job.content.sha256) == 0;
                              }),
               queue_.end());
  std::move(queue.begin(), queue.end(), std::back_inserter(queue_));
}

void Transfers::Prune() {
  // Housekeeping: a failure here occurs again, harmlessly, with the next plan.
  const auto names = files_.List(directory_);
  if (!names.ok()) return;
  const absl::Time now = clock_.Now();
  for (const std::string& name : *names) {
    const std::string digest = DigestIn(name);
    {
      absl::MutexLock lock(&mutex_);
      if (wanted_.count(digest) > 0 || active_.count(digest) > 0) continue;
      verified_.erase(digest);
    }
    const std::string path = absl::StrCat(directory_, "/", name);
    if (absl::StrContains(name, kPart)) {
      const auto stat = files_.Stat(path);
      if (stat.ok() && stat->has_value() &&
          now - absl::FromUnixNanos((*stat)->modified_ns) < kKeepParts)
        continue;
    }
    (void)files_.Remove(path, /*recursive=*/false);
  }
}

absl::Time Transfers::Step() {
  if (!std::exchange(yields_the_disk_, true)) YieldTheDisk();
  std::optional<Plans> plans;
  Job job;
  {
    absl::MutexLock lock(&mutex_);
    if (new_plans_.has_value()) {
      plans = std::move(new_plans_);
      new_plans_.reset();
    } else if (!queue_.empty()) {
      job = std::move(queue_.front());
      queue_.pop_front();
    } else {
      return absl::InfiniteFuture();
    }
  }
  if (plans.has_value()) {
    Reconcile(*plans);
  } else {
    FetchAhead(job);
  }
  return absl::InfinitePast();
}

void Transfers::FetchAhead(const Job& job) {
  Silent silent;
  const std::string& sha256 = job.content.sha256;
  const std::shared_ptr<Transfer> transfer = Claim(sha256, silent);
  if (transfer == nullptr) return;
  TransferHooks hooks = Hooks(*transfer, silent);
  hooks.cancelled = [this, &sha256] {
    if (worker_.is_stopping()) return true;
    absl::MutexLock lock(&mutex_);
    return wanted_.count(sha256) == 0;
  };
  // Asked after the claim: a step that was at it may have done its work. An error is not lost:
  // the step that needs the content will try again, and tell.
  if (is_needed_(*job.step)) (void)Bring(job.content, hooks);
  Finish(sha256, *transfer);
}

std::shared_ptr<Transfers::Transfer> Transfers::Claim(const std::string& sha256,
                                                      ApplyObserver& observer) {
  std::shared_ptr<Transfer> other;
  {
    absl::MutexLock lock(&mutex_);
    std::shared_ptr<Transfer>& active = active_[sha256];
    if (active == nullptr) return active = std::make_shared<Transfer>();
    other = active;
  }
  while (true) {
    std::string activity;
    std::optional<float> percent;
    {
      absl::MutexLock lock(&mutex_);
      if (clock_.AwaitUntil(mutex_, absl::Condition(&other->done), clock_.Now() + kLookEvery))
        return nullptr;
      activity = other->activity;
      percent = other->percent;
    }
    if (!activity.empty()) observer.OnActivity(activity, percent);
  }
}

TransferHooks Transfers::Hooks(Transfer& transfer, ApplyObserver& observer) {
  return {
      .on_activity =
          [this, &transfer, &observer](absl::string_view activity, std::optional<float> percent) {
            {
              absl::MutexLock lock(&mutex_);
              transfer.activity = std::string(activity);
              transfer.percent = percent;
            }
            observer.OnActivity(activity, percent);
          },
      .cancelled = [this] { return worker_.is_stopping(); }};
}

void Transfers::Finish(const std::string& sha256, Transfer& transfer) {
  absl::MutexLock lock(&mutex_);
  transfer.done = true;
  active_.erase(sha256);
}

absl::StatusOr<bool> Transfers::IsStored(const std::string& sha256, const TransferHooks& hooks) {
  const std::string path = PathOf(sha256);
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(path));
  if (!stat.has_value()) return false;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = verified_.find(sha256);
    if (it != verified_.end() && it->second == stat->modified_ns) return true;
  }
  hooks.on_activity("verifying the part fetched earlier", std::nullopt);
  ASSIGN_OR_RETURN(const std::string digest,
                   sys::Sha256OfFile(path, /*sync=*/false, hooks.cancelled));
  // A file that has decayed on the disk is fetched again.
  if (digest != sha256) {
    RETURN_IF_ERROR(files_.Remove(path, /*recursive=*/false));
    return false;
  }
  absl::MutexLock lock(&mutex_);
  verified_[sha256] = stat->modified_ns;
  return true;
}

absl::Status Transfers::FetchBlob(const Content& content, const std::string& part,
                                  const TransferHooks& hooks) {
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> before, files_.Stat(part));
    if (before.has_value() && before->size > content.size)
      RETURN_IF_ERROR(files_.Remove(part, /*recursive=*/false));
    RETURN_IF_ERROR(blobs_.Fetch(content.sha256, content.size, part, hooks));
    ASSIGN_OR_RETURN(const std::string digest,
                     sys::Sha256OfFile(part, /*sync=*/true, hooks.cancelled));
    if (digest == content.sha256) return absl::OkStatus();
    RETURN_IF_ERROR(files_.Remove(part, /*recursive=*/false));
    // A file from an earlier life may have been damaged when that ended.
    if (before.has_value()) continue;
    return absl::DataLossError(
        absl::StrCat("the controller sent a blob that does not match its digest ", content.sha256));
  }
}

absl::Status Transfers::Bring(const Content& content, const TransferHooks& hooks) {
  ASSIGN_OR_RETURN(const bool stored, IsStored(content.sha256, hooks));
  if (stored) return absl::OkStatus();
  const std::string path = PathOf(content.sha256);
  const std::string part = path + kPart;
  if (content.urls.empty()) {
    RETURN_IF_ERROR(FetchBlob(content, part, hooks));
  } else {
    RETURN_IF_ERROR(downloader_.Fetch(content, part, hooks));
  }
  RETURN_IF_ERROR(sys::PlaceFile(part, path, {.mode = 0600}, /*may_move=*/true));
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files_.Stat(path));
  absl::MutexLock lock(&mutex_);
  if (stat.has_value()) verified_[content.sha256] = stat->modified_ns;
  return absl::OkStatus();
}

absl::StatusOr<StoredContent> Transfers::Fetch(const Content& content, ApplyObserver& observer) {
  RETURN_IF_ERROR(CheckContent(content));
  std::shared_ptr<Transfer> transfer;
  while (transfer == nullptr) {
    if (worker_.is_stopping()) return Stopped();
    transfer = Claim(content.sha256, observer);
  }
  const absl::Status status = Bring(content, Hooks(*transfer, observer));
  Finish(content.sha256, *transfer);
  if (absl::IsCancelled(status)) return Stopped();
  RETURN_IF_ERROR(status);
  absl::MutexLock lock(&mutex_);
  const auto wanted = wanted_.find(content.sha256);
  return StoredContent{.path = PathOf(content.sha256),
                       .may_move = wanted == wanted_.end() || wanted->second <= 1};
}

absl::StatusOr<std::string> Transfers::Get(const std::string& sha256, uint64_t size) {
  if (size > sys::kMaxReadBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "blob ", sha256, " of ", size, " bytes is above the limit of ", sys::kMaxReadBytes));
  }
  Silent silent;
  Content content;
  content.sha256 = sha256;
  content.size = size;
  for (int round = 0;; ++round) {
    ASSIGN_OR_RETURN(const StoredContent stored, Fetch(content, silent));
    ASSIGN_OR_RETURN(std::string data, files_.Read(stored.path));
    if (Sha256Hex(data) == sha256) return data;
    if (round > 0) return absl::DataLossError(absl::StrCat(stored.path, " is damaged on the disk"));
    absl::MutexLock lock(&mutex_);
    verified_.erase(sha256);
  }
}

}  // namespace muster::agent
