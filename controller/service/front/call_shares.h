// Limits the calls that one person may have at once.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace muster {
class Clock;
}

namespace muster::controller {

// The kinds of calls, by their cost while they are running.
enum class CallKind { kQuick, kHeavy, kWatch, kTransfer };

// The kind of the call with this name, as on the wire. Calls without a row in the table are quick.
CallKind KindOf(absl::string_view rpc);
// See the table in call_shares.cc.
size_t MostAtOnce(CallKind kind);

// Counts the calls of each person, whatever certificate or connection they use. Does not count
// nodes: their sessions have their own limits and must never wait for people.
//
// A call is admitted at the gate, begins when a thread or a reactor picks it up, and ends with it.
// A call that is given up in between never begins: it counts until kBeginWithin has passed. A
// person who has read an answer may ask again before the call has ended here, so a call that
// answers leaves its place to another one for kAnswersWithin; at most as many as a person may have
// at once. Thread-safe.
class CallShares {
 public:
  static constexpr absl::Duration kBeginWithin = absl::Minutes(1);
  static constexpr absl::Duration kAnswersWithin = absl::Seconds(5);

  // `clock` must outlive the object.
  explicit CallShares(Clock& clock) : clock_(clock) {}

  // While the controller is on probation, nobody's calls are taken but the streams of agents.
  void Shut() { is_shut_.store(true); }
  void Open() { is_shut_.store(false); }
  // Unavailable while it is shut.
  absl::Status CheckOpen() const;

  // ResourceExhausted, naming the limit and the remedy: the person has as many already.
  absl::Status Admit(absl::string_view person, CallKind kind);
  void Begin(absl::string_view person, CallKind kind);
  // The call's answer is on its way. REQUIRES: it has begun.
  void Answer(absl::string_view person, CallKind kind);
  // REQUIRES: it has begun.
  void End(absl::string_view person, CallKind kind);

  // Calls that are admitted or begun and have not ended.
  size_t CountOf(absl::string_view person, CallKind kind);

 private:
  struct Share {
    std::deque<absl::Time> admitted;  // but not begun
    size_t begun = 0;
    std::deque<absl::Time> answering;  // of those that have begun
  };
  static constexpr size_t kKinds = 4;
  using Shares = std::array<Share, kKinds>;

  Share& ShareOf(absl::string_view person, CallKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Forgets a person without calls.
  void Forget(absl::string_view person) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock& clock_;
  std::atomic<bool> is_shut_ = false;
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Shares> shares_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::controller
