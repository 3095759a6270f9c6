#include "agent/sys/shared_transactions.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "common/base/clock.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// A transaction begins when no call has come for so long, which is what a role needs from one step
// to the next, and after the longest wait in any case.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);
constexpr absl::Duration kLongestGathering = absl::Seconds(1);
// How often a call that waits looks whether it should stop.
constexpr absl::Duration kLook = absl::Milliseconds(200);

// Installs candidates of packages and nothing else. Versions and removals change what the others
// would get.
bool IsPlain(const PackageTransaction& transaction) {
  return !transaction.install.empty() && transaction.remove.empty() && transaction.hold.empty() &&
         transaction.release.empty() && !transaction.allow_downgrade && !transaction.only_upgrade &&
         std::none_of(transaction.install.begin(), transaction.install.end(),
                      [](const std::string& item) { return absl::StrContains(item, '='); });
}

// Whether this holds for each package that the transaction installs.
template <typename Predicate>
bool HoldsForAll(PackageManager& manager, const PackageTransaction& transaction,
                 Predicate predicate) {
  const auto found = manager.Query(transaction.install, /*with_candidates=*/false);
  return found.ok() && std::all_of(found->begin(), found->end(),
                                   [&](const auto& package) { return predicate(package.second); });
}

// Whether a failure is nobody's own: a lock that is not released, lists that cannot be fetched.
bool ConcernsAll(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsCancelled(status);
}

}  // namespace

std::vector<SharedTransactions::Call*> SharedTransactions::Companions() const {
  std::vector<Call*> companions;
  const Call& first = *calls_.front();
  for (Call* call : calls_) {
    if (call == &first || call->is_alone || !IsPlain(call->transaction) ||
        call->transaction.install_recommends != first.transaction.install_recommends)
      continue;
    companions.push_back(call);
  }
  return companions;
}

bool SharedTransactions::HasComeThrough(const Call& call) {
  // Nobody can tell whether packages that were installed before should have been upgraded.
  return call.is_new && HoldsForAll(*manager_, call.transaction, [](const PackageStatus& status) {
           return status.installed && !status.half_done;
         });
}

absl::Status SharedTransactions::Gather(const Call& first) {
  RETURN_IF_ERROR(manager_->Update(absl::InfiniteDuration(), first.observer));
  const auto count = [this] {
    absl::MutexLock lock(&mutex_);
    return calls_.size();
  };
  for (absl::Duration waited; waited < kLongestGathering; waited += kQuiet) {
    const size_t before = count();
    clock_.Sleep(kQuiet);
    if (count() <= before) break;
  }
  return absl::OkStatus();
}

absl::Status SharedTransactions::ApplyTogether(Call& first, const std::vector<Call*>& others) {
  if (others.empty()) return manager_->Apply(first.transaction, first.observer);
  const auto note = [this](Call& call) {
    call.is_new = HoldsForAll(*manager_, call.transaction, [](const PackageStatus& status) {
      return !status.installed && !status.half_done;
    });
  };
  note(first);
  for (Call* other : others) note(*other);
  PackageTransaction all = first.transaction;
  for (const Call* other : others) {
    for (const std::string& name : other->transaction.install) {
      if (std::find(all.install.begin(), all.install.end(), name) == all.install.end())
        all.install.push_back(name);
    }
  }
  PackageObserver observer = first.observer;
  observer.on_activity = [&](absl::string_view activity, std::optional<float> percent) {
    if (first.observer.on_activity) first.observer.on_activity(activity, percent);
    for (const Call* other : others) {
      if (other->observer.on_activity) other->observer.on_activity(activity, percent);
    }
  };
  return manager_->Apply(all, observer);
}

absl::Status SharedTransactions::Apply(const PackageTransaction& transaction,
                                       const PackageObserver& observer) {
  Call call{.transaction = transaction, .observer = observer};
  std::vector<Call*> others;
  {
    absl::MutexLock lock(&mutex_);
    calls_.push_back(&call);
    const auto may_go_on = [this, &call] {
      mutex_.AssertHeld();
      return call.is_done || (!is_busy_ && calls_.front() == &call);
    };
    // Under the lock, since the caller may be taken along from now on, and its observer with it.
    if (!may_go_on() && observer.on_activity)
      observer.on_activity("other packages are installed first", std::nullopt);
    while (!mutex_.AwaitWithTimeout(absl::Condition(&may_go_on), kLook)) {
      if (call.is_taken || !observer.is_stopping || !observer.is_stopping()) continue;
      calls_.erase(std::find(calls_.begin(), calls_.end(), &call));
      return absl::CancelledError("other packages are still being installed");
    }
    if (call.is_done) return std::move(call.outcome);
    is_busy_ = true;
  }
  absl::Status status = absl::OkStatus();
  if (!call.is_alone && IsPlain(transaction)) {
    status = Gather(call);
    absl::MutexLock lock(&mutex_);
    others = Companions();
    for (Call* other : others) other->is_taken = true;
  }
  if (status.ok()) status = ApplyTogether(call, others);
  const bool is_shared = status.ok() || ConcernsAll(status);
  const absl::Status shared = is_shared ? status : absl::OkStatus();
  std::vector<Call*> done;
  for (Call* other : others)
    if (is_shared || HasComeThrough(*other)) done.push_back(other);
  if (!is_shared && !others.empty())
    status = HasComeThrough(call) ? absl::OkStatus() : manager_->Apply(transaction, observer);
  absl::MutexLock lock(&mutex_);
  calls_.pop_front();
  for (Call* other : others) {
    other->is_taken = false;
    other->is_alone = true;
  }
  for (Call* other : done) {
    other->is_done = true;
    other->outcome = shared;
    calls_.erase(std::find(calls_.begin(), calls_.end(), other));
  }
  is_busy_ = false;
  return status;
}

}  // namespace muster::agent
