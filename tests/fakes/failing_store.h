// A store over a real one that refuses transactions, or dies with its process, when told to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "controller/store/store.h"

namespace muster::testing {

// Transactions are counted from 1, starting at the last order. Thread-safe, but for orders.
class FailingStore final : public controller::Store {
 public:
  using Fn = absl::FunctionRef<absl::Status(controller::Transaction&)>;
  enum class Death { kBeforeCommit, kAfterCommit };

  explicit FailingStore(std::unique_ptr<controller::Store> store) : store_(std::move(store)) {}

  // The real one, for a look without faults.
  controller::Store& below() { return *store_; }

  // Every Update fails as on a full disk while it is set.
  std::atomic<bool> refuse{false};

  // Transactions `first` to `first + count - 1` fail like transient faults, and keep nothing.
  void Refuse(int first, int count) {
    transactions_ = 0;
    refuse_from_ = first;
    refuse_to_ = first + count;
  }
  // The process dies at its Update `number`: that one and all that follow fail. `on_death` is
  // called once, before that Update returns.
  void Die(int number, Death death, std::function<void()> on_death) {
    updates_ = 0;
    dies_at_ = number;
    death_ = death;
    on_death_ = std::move(on_death);
  }
  // The state as a new process finds it.
  void Revive() {
    dead_ = false;
    dies_at_ = 0;
  }

  bool dead() const { return dead_; }
  int transactions() const { return transactions_; }
  int updates() const { return updates_; }

  absl::Status View(Fn fn) override {
    if (dead_) return Dead();
    return IsRefused() ? absl::UnavailableError("the store is locked") : store_->View(fn);
  }
  absl::Status Update(Fn fn) override {
    if (dead_) return Dead();
    const bool refused = IsRefused();
    const bool dies = ++updates_ == dies_at_;
    if (refused || refuse) return absl::ResourceExhaustedError("disk full");
    if (!dies) return store_->Update(fn);
    if (death_ == Death::kAfterCommit) store_->Update(fn).IgnoreError();
    dead_ = true;
    on_death_();
    return Dead();
  }
  uint64_t SizeBytes() override { return store_->SizeBytes(); }

 private:
  static absl::Status Dead() { return absl::UnavailableError("the process is dead"); }
  bool IsRefused() {
    const int number = ++transactions_;
    return number >= refuse_from_ && number < refuse_to_;
  }

  const std::unique_ptr<controller::Store> store_;
  std::atomic<int> transactions_{0};
  std::atomic<int> updates_{0};
  int refuse_from_ = 0;
  int refuse_to_ = 0;
  int dies_at_ = 0;
  Death death_ = Death::kBeforeCommit;
  std::function<void()> on_death_;
  std::atomic<bool> dead_{false};
};

}  // namespace muster::testing
