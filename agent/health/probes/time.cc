// The clock: whether it follows a time server, and how far it is off.
#include <sys/timex.h>

#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "agent/health/probes/child.h"
#include "agent/health/probes/probe.h"
#include "common/base/status.h"
#include "common/health/clock_tracking.h"

namespace muster::agent::health {
namespace {

constexpr absl::Duration kChronyTimeLimit = absl::Seconds(10);

// What the kernel knows, where another program than chronyd keeps the time.
muster::health::Tracking AskKernel() {
  timex time = {};
  ::adjtimex(&time);
  const double unit = (time.status & STA_NANO) != 0 ? 1e-9 : 1e-6;
  return {.offset_s = static_cast<double>(time.offset) * unit,
          .synchronised = (time.status & STA_UNSYNC) == 0};
}

class TimeProbe final : public Probe {
 public:
  explicit TimeProbe(const ProbeContext& context) : chrony_(*context.processes) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    ASSIGN_OR_RETURN(const muster::health::Tracking tracking, Ask());
    Findings findings;
    if (!tracking.synchronised) {
      findings.Bad("clock_offset", "", "the clock follows no time server: is chrony running?");
    } else if (std::abs(tracking.offset_s) > limits.Of("clock_offset.seconds")) {
      findings.Bad("clock_offset", "",
                   absl::StrFormat("the clock is %.3f s off", std::abs(tracking.offset_s)));
    }
    return findings;
  }

 private:
  absl::StatusOr<muster::health::Tracking> Ask() {
    const absl::StatusOr<sys::ProcessResult> asked =
        chrony_.Run({"chronyc", "-c", "tracking"}, kChronyTimeLimit);
    if (absl::IsNotFound(asked.status())) return AskKernel();
    RETURN_IF_ERROR(asked.status());
    if (!asked->ok()) return AskKernel();
    return muster::health::ParseTracking(asked->out);
  }

  Child chrony_;
};

}  // namespace

std::unique_ptr<Probe> MakeTimeProbe(const ProbeContext& context) {
  return std::make_unique<TimeProbe>(context);
}

}  // namespace muster::agent::health
