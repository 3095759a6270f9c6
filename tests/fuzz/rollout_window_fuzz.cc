// Windows and shares of a rollout are typed by people. A window that is read opens within two
// weeks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "controller/rollout/plan/limits.h"
#include "controller/rollout/plan/window.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

void ReadWindow(absl::string_view text) {
  using namespace muster::controller::rollout;
  const auto window = ParseWindow(text);
  if (!window.ok()) {
    if (window.status().message().empty()) std::abort();
    return;
  }
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const absl::Time next = NextOpening({*window}, now, absl::UTCTimeZone());
  if (next < now || next > now + absl::Hours(15 * 24)) std::abort();
  if (!IsOpen({*window}, next, absl::UTCTimeZone())) std::abort();
}

void ReadShare(absl::string_view text, uint32_t nodes) {
  using namespace muster::controller::rollout;
  muster::v1::CreateRolloutRequest request;
  request.set_max_unavailable(std::string(text));
  request.add_waves(std::string(text));
  const auto limits = ResolveLimits(request, nodes);
  if (!limits.ok()) return;
  if (limits->max_unavailable < 1 || limits->max_unavailable > nodes) std::abort();
  uint32_t before = 0;
  for (const uint32_t size : limits->wave_sizes) {
    if (size <= before) std::abort();
    before = size;
  }
  if (before != nodes) std::abort();
}

}  // namespace

FUZZ_TARGET(rollout_window, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  ReadWindow(text);
  ReadShare(text, 1);
  ReadShare(text, 10'000);
  return 0;
}
