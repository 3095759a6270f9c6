// A BMC in memory, and the machine behind it.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "controller/power/bmc.h"

namespace muster::testing {

// What several BMCs of one machine, one after the other, share. Thread-safe.
class FakeMachinePower {
 public:
  absl::Mutex mutex;
  controller::power::PowerState state ABSL_GUARDED_BY(mutex) = controller::power::PowerState::kOff;
  // Taken before anything else happens, one for each call; then `failure`.
  std::deque<absl::Status> next ABSL_GUARDED_BY(mutex);
  absl::Status failure ABSL_GUARDED_BY(mutex);
  bool lies ABSL_GUARDED_BY(mutex) = false;          // it takes orders and does nothing
  bool ignores_soft ABSL_GUARDED_BY(mutex) = false;  // its operating system hangs
  std::vector<std::string> orders ABSL_GUARDED_BY(mutex);

  std::vector<std::string> Orders() {
    absl::MutexLock lock(&mutex);
    return orders;
  }
  void Set(controller::power::PowerState to) {
    absl::MutexLock lock(&mutex);
    state = to;
  }
  void FailWith(absl::Status status) {
    absl::MutexLock lock(&mutex);
    failure = std::move(status);
  }
};

class FakeBmc final : public controller::power::Bmc {
 public:
  using State_ = controller::power::PowerState;
  using Change_ = controller::power::PowerChange;

  explicit FakeBmc(FakeMachinePower& machine) : machine_(machine) {}

  absl::StatusOr<State_> State() override {
    absl::MutexLock lock(&machine_.mutex);
    if (const absl::Status status = Next(); !status.ok()) return status;
    return machine_.state;
  }
  absl::Status Change(Change_ change) override {
    absl::MutexLock lock(&machine_.mutex);
    if (absl::Status status = Next(); !status.ok()) return status;
    constexpr const char* kWords[] = {"on", "off", "soft", "reset"};
    machine_.orders.emplace_back(kWords[static_cast<size_t>(change)]);
    if (machine_.lies || (change == Change_::kSoftOff && machine_.ignores_soft))
      return absl::OkStatus();
    if (change == Change_::kOn) machine_.state = State_::kOn;
    if (change == Change_::kOff || change == Change_::kSoftOff) machine_.state = State_::kOff;
    return absl::OkStatus();
  }
  absl::Status BootOnce(controller::power::BootDevice device) override {
    absl::MutexLock lock(&machine_.mutex);
    if (absl::Status status = Next(); !status.ok()) return status;
    constexpr const char* kWords[] = {"", "pxe", "disk", "bios"};
    machine_.orders.push_back(absl::StrCat("boot ", kWords[static_cast<size_t>(device)]));
    return absl::OkStatus();
  }
  absl::Status Identify(bool is_on) override {
    absl::MutexLock lock(&machine_.mutex);
    if (absl::Status status = Next(); !status.ok()) return status;
    machine_.orders.emplace_back(is_on ? "light on" : "light off");
    return absl::OkStatus();
  }

 private:
  absl::Status Next() ABSL_EXCLUSIVE_LOCKS_REQUIRED(machine_.mutex) {
    if (machine_.next.empty()) return machine_.failure;
    absl::Status status = std::move(machine_.next.front());
    machine_.next.pop_front();
    return status;
  }

  FakeMachinePower& machine_;
};

}  // namespace muster::testing
