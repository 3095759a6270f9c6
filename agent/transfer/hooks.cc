#include "agent/transfer/hooks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kShowEvery = absl::Milliseconds(200);
constexpr absl::Duration kSlice = absl::Milliseconds(100);

std::string MiB(uint64_t bytes) {
  return absl::StrFormat("%.1f", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

void ProgressMeter::Show(uint64_t bytes, std::optional<uint64_t> total) {
  const absl::Time now = clock_.Now();
  if (now < next_) return;
  next_ = now + kShowEvery;
  std::optional<float> percent;
  if (total.value_or(0) > 0)
    percent = 100.0f * static_cast<float>(bytes) / static_cast<float>(*total);
  hooks_.on_activity(
      absl::StrCat(what_, ": ", MiB(bytes),
                   total.has_value() ? absl::StrCat(" of ", MiB(*total)) : "", " MiB"),
      percent);
}

bool WaitUnlessCancelled(Clock& clock, absl::Duration duration, absl::Time deadline,
                         const TransferHooks& hooks) {
  const absl::Time end = std::min(clock.Now() + duration, deadline);
  for (absl::Time now = clock.Now(); now < end; now = clock.Now()) {
    if (hooks.cancelled()) return false;
    clock.Sleep(std::min(kSlice, end - now));
  }
  return !hooks.cancelled() && clock.Now() < deadline;
}

}  // namespace muster::agent
