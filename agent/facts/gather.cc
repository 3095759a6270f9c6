#include "agent/facts/gather.h"

#include <map>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/text/no_answer.h"
#include "common/wire/message_rules.h"
#include "google/protobuf/timestamp.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {

// One probe's running attempt and its latest answer.
struct FactsGatherer::Slot {
  absl::Mutex mutex;
  bool running ABSL_GUARDED_BY(mutex) = false;
  bool abandoned ABSL_GUARDED_BY(mutex) = false;  // the call that started the attempt has ended
  // Until when the answer, which came too late, may be used by a later call.
  absl::Time late_until ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  bool with_packages ABSL_GUARDED_BY(mutex) = false;  // the answer
  absl::Status status ABSL_GUARDED_BY(mutex);
  v1::Facts facts ABSL_GUARDED_BY(mutex);
};

FactsGatherer::FactsGatherer(ProbeContext context, std::vector<Probe> probes, Clock& clock,
                             absl::Duration timeout)
    : context_(std::move(context)), probes_(std::move(probes)), clock_(clock), timeout_(timeout) {
  for (size_t i = 0; i < probes_.size(); ++i) slots_.push_back(std::make_shared<Slot>());
}

FactsGatherer::~FactsGatherer() = default;

// A disk with an odd model, or a mount point named by a user, must not cost the node all its facts.
void FitFacts(v1::Facts& facts) {
  std::map<std::string, std::string> left_out;  // the first of each field
  wire::Fit(facts, [&](absl::string_view field, absl::string_view what) {
    left_out.try_emplace(std::string(field), what);
  });
  for (const auto& [field, what] : left_out) {
    v1::UnknownFact& unknown = *facts.add_unknown();
    unknown.set_probe(field);
    unknown.set_reason(absl::StrCat("left out: ", what));
  }
}

v1::Facts FactsGatherer::Gather(bool with_packages) {
  absl::MutexLock one(&gathering_);
  ProbeContext asked = context_;
  asked.with_packages = with_packages;
  const absl::Time deadline = clock_.Now() + timeout_;
  std::vector<bool> hung(probes_.size());
  for (size_t i = 0; i < probes_.size(); ++i) {
    const std::shared_ptr<Slot> slot = slots_[i];
    {
      absl::MutexLock lock(&slot->mutex);
      hung[i] = slot->running;
      if (hung[i]) continue;
      slot->running = true;
      slot->abandoned = false;
    }
    std::thread([slot, run = probes_[i].run, context = asked, &clock = clock_] {
      v1::Facts facts;
      absl::Status status = run(context, facts);
      absl::MutexLock lock(&slot->mutex);
      slot->facts = std::move(facts);
      slot->status = std::move(status);
      slot->with_packages = context.with_packages;
      slot->late_until = slot->abandoned ? clock.Now() + kLateAnswerLife : absl::InfinitePast();
      slot->running = false;
    }).detach();
  }
  v1::Facts result;
  for (size_t i = 0; i < probes_.size(); ++i) {
    Slot& slot = *slots_[i];
    absl::MutexLock lock(&slot.mutex);
    const bool answered =
        !hung[i] && clock_.AwaitUntil(slot.mutex,
                                      absl::Condition(
                                          +[](bool* running) { return !*running; }, &slot.running),
                                      deadline);
    slot.abandoned = !answered;
    const bool has_late_answer =
        !answered && clock_.Now() < slot.late_until && slot.with_packages == with_packages;
    slot.late_until = absl::InfinitePast();
    const bool has_answer = answered || has_late_answer;
    if (has_answer && slot.status.ok()) {
      result.MergeFrom(slot.facts);
      continue;
    }
    v1::UnknownFact& unknown = *result.add_unknown();
    unknown.set_probe(probes_[i].name);
    unknown.set_reason(has_answer ? std::string(slot.status.message())
                                  : absl::StrCat(kNoAnswer, absl::FormatDuration(timeout_)));
  }
  *result.mutable_gathered_at() = ToTimestamp(clock_.Now());
  FitFacts(result);
  return result;
}

}  // namespace muster::agent
