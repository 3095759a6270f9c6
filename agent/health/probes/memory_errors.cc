// Errors of the memory, as its controllers count them.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"

namespace muster::agent::health {
namespace {

class MemoryProbe final : public Probe {
 public:
  explicit MemoryProbe(const ProbeContext& context) : context_(context) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    Findings findings;
    const std::string edac = context_.root + "/sys/devices/system/edac/mc";
    bool has_controller = false;
    for (const std::string& name : ListNames(edac)) {
      if (!absl::StartsWith(name, "mc")) continue;
      has_controller = true;
      const std::string folder = absl::StrCat(edac, "/", name);
      // The kernel counts from the boot on.
      const int64_t uncorrected = ReadNumber(folder + "/ue_count").value_or(0);
      if (uncorrected > 0)
        findings.Bad("memory_ecc", name,
                     absl::StrCat(uncorrected, " uncorrected errors of memory controller ", name,
                                  " since the boot: ras-mc-ctl --errors names the module"));
      const double in_hour =
          context_.trends
              ->Add(absl::StrCat("edac/", name, "/corrected"),
                    static_cast<double>(ReadNumber(folder + "/ce_count").value_or(0)),
                    context_.clock->Now())
              .in_hour;
      if (in_hour > limits.Of("memory_ecc_corrected.per_hour"))
        findings.Bad("memory_ecc_corrected", name,
                     absl::StrCat(in_hour, " corrected errors of memory controller ", name,
                                  " within an hour"));
    }
    if (!has_controller) findings.not_watched = {"memory_ecc", "memory_ecc_corrected"};
    return findings;
  }

 private:
  const ProbeContext context_;
};

}  // namespace

std::unique_ptr<Probe> MakeMemoryProbe(const ProbeContext& context) {
  return std::make_unique<MemoryProbe>(context);
}

}  // namespace muster::agent::health
