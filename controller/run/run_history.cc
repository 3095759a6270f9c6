#include "controller/run/run_history.h"

#include <deque>
#include <set>
#include <utility>
#include <vector>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/value/step_status.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {
namespace {

// Those of v1::StepStatus.
std::set<int> ChangedStatuses() {
  std::set<int> statuses;
  for (int status = v1::StepStatus_MIN; status <= v1::StepStatus_MAX; ++status) {
    if (!IsUnchanged(static_cast<v1::StepStatus>(status))) statuses.insert(status);
  }
  return statuses;
}

// The outcome of each node, and the end.
absl::StatusOr<std::shared_ptr<RunFeed>> ReadTail(Store& store, const std::string& run_id) {
  RunRecord record;
  std::vector<RunNodeRecord> nodes;
  std::vector<RunValidationRecord> validations;
  uint64_t last_sequence = 0;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(record, txn.runs().Get(run_id));
    ASSIGN_OR_RETURN(nodes, txn.runs().ListNodes(run_id));
    ASSIGN_OR_RETURN(validations, txn.run_validations().List(run_id));
    ASSIGN_OR_RETURN(last_sequence, txn.step_results().LastSequence(run_id));
    return absl::OkStatus();
  }));
  auto log = std::make_shared<RunFeed>(kRunRetention, last_sequence);
  for (const RunNodeRecord& node : nodes) {
    v1::RunEvent event;
    event.set_node(node.node);
    FillRecap(node, *event.mutable_node_finished());
    log->Append(std::move(event));
  }
  v1::RunEvent end;
  *end.mutable_run_finished() = ToProto(record, nodes);
  FillValidations(validations, *end.mutable_run_finished());
  log->Append(std::move(end));
  log->End();
  return log;
}

// StepEvent(), serialized.
std::string SerializedStepEvent(const StepResultRecord& result) {
  v1::RunEvent event;
  event.set_sequence(result.sequence);
  *event.mutable_time() = ToTimestamp(result.time);
  event.set_node(result.node);
  std::string bytes = event.SerializeAsString();
  // The step follows the other fields as a message does: its tag, its length and its bytes.
  constexpr uint32_t kLengthDelimited = 2;
  constexpr uint32_t kStepTag = v1::RunEvent::kStepFieldNumber << 3 | kLengthDelimited;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.WriteTag(kStepTag);
    coded.WriteVarint32(static_cast<uint32_t>(result.result.size()));
    coded.WriteString(result.result);
  }
  return bytes;
}

}  // namespace

v1::RunEvent StepEvent(const StepResultRecord& result) {
  v1::RunEvent event;
  event.ParseFromString(SerializedStepEvent(result));
  return event;
}

void AppendStep(const StepResultRecord& result, RunFeed& feed) {
  feed.AppendSerialized(result.sequence, !IsUnchanged(static_cast<v1::StepStatus>(result.status)),
                        SerializedStepEvent(result));
}

struct RunHistory::PageQueue {
  absl::Mutex mutex;
  std::deque<std::shared_ptr<PagedWatch>> waiting ABSL_GUARDED_BY(mutex);  // for their next page
  Worker* worker ABSL_GUARDED_BY(mutex) = nullptr;  // nullptr: nobody reads any more
  bool is_broken ABSL_GUARDED_BY(mutex) = false;
};

class RunHistory::PagedWatch final : public RunWatch,
                                     public std::enable_shared_from_this<PagedWatch> {
 public:
  PagedWatch(std::shared_ptr<PageQueue> pages, std::string run_id, uint64_t after,
             std::function<void()> on_ready, FeedPart part)
      : pages_(std::move(pages)),
        run_id_(std::move(run_id)),
        part_(part),
        after_(after),
        on_ready_(std::move(on_ready)) {}

  RunEventPtr Next() override {
    absl::MutexLock lock(&pages_->mutex);
    if (!page_.empty()) {
      RunEventPtr event = std::move(page_.front());
      page_.pop_front();
      return event;
    }
    if (tail_ != nullptr) return tail_->Next();
    if (!is_waiting_ && pages_->worker != nullptr) {
      is_waiting_ = true;
      pages_->waiting.push_back(shared_from_this());
      pages_->worker->Wake();
    }
    return nullptr;
  }
  bool AtEnd() override {
    absl::MutexLock lock(&pages_->mutex);
    return page_.empty() && tail_ != nullptr && tail_->AtEnd();
  }
  bool IsBroken() override {
    absl::MutexLock lock(&pages_->mutex);
    return pages_->is_broken || has_failed_;
  }
  void Cancel() override {
    absl::MutexLock lock(&callback_mutex_);
    on_ready_ = nullptr;
  }

  // Runs in the history's thread, outside the lock of pages.
  void ReadPage(Store& store, Tails& tails) {
    std::deque<RunEventPtr> page;
    std::shared_ptr<RunWatch> tail;
    const absl::Status read = Read(store, tails, page, tail);
    {
      absl::MutexLock lock(&pages_->mutex);
      is_waiting_ = false;
      has_failed_ = !read.ok();
      page_ = std::move(page);
      tail_ = std::move(tail);
    }
    absl::MutexLock lock(&callback_mutex_);
    if (on_ready_) on_ready_();
  }

 private:
  absl::Status Read(Store& store, Tails& tails, std::deque<RunEventPtr>& page,
                    std::shared_ptr<RunWatch>& tail) {
    StepResultQuery query;
    query.run_id = run_id_;
    query.after_sequence = after_;
    query.limit = kPageResults;
    if (part_ == FeedPart::kChanges) query.statuses = ChangedStatuses();
    std::vector<StepResultRecord> results;
    RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(results, txn.step_results().List(query));
      return absl::OkStatus();
    }));
    for (const StepResultRecord& result : results) {
      page.push_back(std::make_shared<const v1::RunEvent>(StepEvent(result)));
      after_ = result.sequence;
    }
    if (results.size() == kPageResults) return absl::OkStatus();
    std::weak_ptr<RunFeed>& known = tails[run_id_];
    std::shared_ptr<RunFeed> log = known.lock();
    if (log == nullptr) {
      ASSIGN_OR_RETURN(log, ReadTail(store, run_id_));
      known = log;
    }
    tail = log->Watch(after_, [] {});  // the run has ended: there will be nothing new
    return absl::OkStatus();
  }

  const std::shared_ptr<PageQueue> pages_;
  const std::string run_id_;
  const FeedPart part_;
  uint64_t after_;  // used by the history's thread
  bool is_waiting_ ABSL_GUARDED_BY(pages_->mutex) = false;
  bool has_failed_ ABSL_GUARDED_BY(pages_->mutex) = false;
  std::deque<RunEventPtr> page_ ABSL_GUARDED_BY(pages_->mutex);
  std::shared_ptr<RunWatch> tail_
      ABSL_GUARDED_BY(pages_->mutex);  // nullptr: results come before it
  absl::Mutex callback_mutex_;
  std::function<void()> on_ready_ ABSL_GUARDED_BY(callback_mutex_);
};

RunHistory::RunHistory(Store& store, Clock& clock)
    : store_(store),
      pages_(std::make_shared<PageQueue>()),
      worker_(clock, [this] { return Step(); }) {
  {
    absl::MutexLock lock(&pages_->mutex);
    pages_->worker = &worker_;
  }
  worker_.Start();
}

RunHistory::~RunHistory() { Stop(); }

void RunHistory::Stop() {
  {
    absl::MutexLock lock(&pages_->mutex);
    pages_->worker = nullptr;
    pages_->waiting.clear();
  }
  worker_.Stop();
}

void RunHistory::BreakAll() {
  absl::MutexLock lock(&pages_->mutex);
  pages_->is_broken = true;
}

absl::StatusOr<std::shared_ptr<RunWatch>> RunHistory::Watch(const std::string& run_id,
                                                            uint64_t after_sequence,
                                                            std::function<void()> on_ready,
                                                            FeedPart part) {
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) { return txn.runs().Get(run_id).status(); }));
  return std::make_shared<PagedWatch>(pages_, run_id, after_sequence, std::move(on_ready), part);
}

absl::Time RunHistory::Step() {
  std::shared_ptr<PagedWatch> next;
  {
    absl::MutexLock lock(&pages_->mutex);
    if (pages_->waiting.empty()) return absl::InfiniteFuture();
    next = std::move(pages_->waiting.front());
    pages_->waiting.pop_front();
  }
  next->ReadPage(store_, tails_);
  next.reset();
  for (auto each = tails_.begin(); each != tails_.end();)
    each = each->second.expired() ? tails_.erase(each) : std::next(each);
  return absl::InfinitePast();
}

}  // namespace muster::controller
