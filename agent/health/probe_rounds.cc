#include "agent/health/probe_rounds.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace muster::agent::health {

// Shared with the thread that looks, which may outlive everything else when it hangs.
struct ProbeRounds::Look {
  std::optional<absl::StatusOr<Findings>> Take() {
    absl::MutexLock lock(&mutex);
    return std::exchange(findings, std::nullopt);
  }

  absl::Mutex mutex;
  std::optional<absl::StatusOr<Findings>> findings ABSL_GUARDED_BY(mutex);
};

// What a thread that looks calls at its end; silent once nobody listens any more.
struct ProbeRounds::Bell {
  void Ring() {
    absl::MutexLock lock(&mutex);
    if (wake) wake();
  }

  absl::Mutex mutex;
  std::function<void()> wake ABSL_GUARDED_BY(mutex);
};

ProbeRounds::ProbeRounds(std::function<void()> wake) : bell_(std::make_shared<Bell>()) {
  absl::MutexLock lock(&bell_->mutex);
  bell_->wake = std::move(wake);
}

ProbeRounds::~ProbeRounds() {
  absl::MutexLock lock(&bell_->mutex);
  bell_->wake = nullptr;
}

void ProbeRounds::Set(const std::string& group, std::vector<ProbeSpec> probes) {
  std::vector<Slot> slots;
  for (ProbeSpec& spec : probes) slots.push_back({.spec = std::move(spec)});
  groups_[group] = std::move(slots);
}

absl::Status ProbeRounds::Start(Slot& slot, const muster::health::Limits& limits, absl::Time now) {
  slot.look = std::make_shared<Look>();
  slot.started = now;
  slot.due = now + slot.spec.interval;
  const auto run = [look = slot.look, probe = slot.spec.probe, limits, bell = bell_] {
    absl::StatusOr<Findings> findings = probe->Look(limits);
    {
      absl::MutexLock lock(&look->mutex);
      look->findings = std::move(findings);
    }
    bell->Ring();
  };
  // A job has taken all processes that the node may have: that is no reason for the agent to end.
  try {
    std::thread(run).detach();
  } catch (const std::system_error& error) {
    slot.look = nullptr;
    return absl::ResourceExhaustedError(absl::StrCat("no thread to look with: ", error.what()));
  }
  return absl::OkStatus();
}

std::vector<ProbeRounds::Outcome> ProbeRounds::Step(const muster::health::Limits& limits,
                                                    absl::Time now) {
  std::vector<Outcome> outcomes;
  for (auto& [group, slots] : groups_) {
    for (Slot& slot : slots) {
      // The clock was set back.
      if (slot.due > now + slot.spec.interval) slot.due = now;
      if (slot.look != nullptr) {
        std::optional<absl::StatusOr<Findings>> findings = slot.look->Take();
        if (findings.has_value()) {
          slot.look = nullptr;
          outcomes.push_back({slot.spec, *std::move(findings)});
        } else if (now >= slot.due && now - slot.started > slot.spec.time_limit) {
          slot.due = now + slot.spec.interval;
          outcomes.push_back(
              {slot.spec, absl::DeadlineExceededError(absl::StrCat(
                              "no answer in ", absl::FormatDuration(slot.spec.time_limit)))});
        }
      }
      if (slot.look != nullptr || now < slot.due) continue;
      const absl::Status started = Start(slot, limits, now);
      if (!started.ok()) outcomes.push_back({slot.spec, started});
    }
  }
  return outcomes;
}

absl::Time ProbeRounds::NextDue(absl::Time now) const {
  absl::Time next = absl::InfiniteFuture();
  for (const auto& [group, slots] : groups_) {
    for (const Slot& slot : slots) {
      // A look that is running wakes when it ends.
      const absl::Time limit = slot.started + slot.spec.time_limit + absl::Milliseconds(1);
      next = std::min(next, slot.look == nullptr ? slot.due : std::max(slot.due, limit));
    }
  }
  return std::max(next, now);
}

}  // namespace muster::agent::health
