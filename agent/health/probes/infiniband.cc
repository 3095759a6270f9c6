// Ports of InfiniBand: their state and their errors.
#include <cstdint>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/probe.h"
#include "common/base/clock.h"
#include "common/health/infiniband.h"

namespace muster::agent::health {
namespace {

constexpr size_t kMaxPorts = 32;

// How much an error counts (see common/health/limits.cc).
struct ErrorCounter {
  const char* name;
  double weight;
};
constexpr ErrorCounter kCounters[] = {
    {"symbol_error", 1}, {"link_error_recovery", 10}, {"link_downed", 60}};

class InfinibandProbe final : public Probe {
 public:
  explicit InfinibandProbe(const ProbeContext& context) : context_(context) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits& limits) override {
    Findings findings;
    const std::string adapters = context_.root + "/sys/class/infiniband";
    std::set<std::string> watched;
    for (const std::string& adapter : ListNames(adapters)) {
      const std::string folder = absl::StrCat(adapters, "/", adapter);
      for (const std::string& port : ListNames(folder + "/ports"))
        LookAtPort(absl::StrCat(adapter, "/", port), folder, absl::StrCat(folder, "/ports/", port),
                   limits, watched, findings);
    }
    for (const std::string& name : active_) {
      if (watched.count(name) == 0)
        findings.Bad("ib_port", name,
                     absl::StrCat("port ", name, " is gone: its adapter fell off the bus, or the ",
                                  "driver gave it up"));
    }
    return findings;
  }

 private:
  void LookAtPort(const std::string& name, const std::string& adapter, const std::string& folder,
                  const muster::health::Limits& limits, std::set<std::string>& watched,
                  Findings& findings) {
    const std::string link_layer = ReadValue(folder + "/link_layer").value_or("");
    if (link_layer != "InfiniBand") {
      // Ethernet with RDMA is watched as a network interface, also a port that was of InfiniBand.
      if (!link_layer.empty()) active_.erase(name);
      return;
    }
    if (watched.size() == kMaxPorts) return;
    watched.insert(name);
    LookAt(name, folder, limits, findings);
    // A function that the driver makes and takes away (SR-IOV) may go.
    if (!LinkName(adapter + "/device/physfn").empty()) active_.erase(name);
  }

  void LookAt(const std::string& name, const std::string& folder,
              const muster::health::Limits& limits, Findings& findings) {
    // "4: ACTIVE"
    const std::string state = ReadValue(folder + "/state").value_or("");
    const bool is_active = absl::StrContains(state, "ACTIVE");
    if (is_active) active_.insert(name);
    const bool was_active =
        active_.count(name) > 0 || ReadNumber(folder + "/counters/link_downed").value_or(0) > 0;
    if (!is_active && was_active)
      findings.Bad("ib_port", name,
                   absl::StrCat("port ", name, " is in state ", state,
                                ": check cable, switch port and subnet manager"));
    double weighted = 0;
    std::string stopped;
    std::string evidence = absl::StrCat("port ", name, " within an hour:");
    for (const ErrorCounter& counter : kCounters) {
      const auto value = ReadNumber(absl::StrCat(folder, "/counters/", counter.name));
      if (!value.has_value()) continue;
      const Growth growth =
          context_.trends->Add(absl::StrCat("ib/", name, "/", counter.name),
                               static_cast<double>(*value), context_.clock->Now());
      weighted += growth.in_hour * counter.weight;
      if (growth.in_hour > 0) absl::StrAppend(&evidence, " ", counter.name, " +", growth.in_hour);
      // Errors were seen, and whether there are more cannot be.
      if (muster::health::HasStopped(counter.name, *value) && growth.in_boot > 0)
        absl::StrAppend(&stopped, stopped.empty() ? "" : ", ", counter.name);
    }
    if (!stopped.empty()) {
      findings.Bad("ib_errors", name,
                   absl::StrCat("port ", name, " counts no more errors, ", stopped,
                                " being at its maximum: repair the link, then reset its counters "
                                "(perfquery -R)"));
      return;
    }
    if (weighted > limits.Of("ib_errors.per_hour"))
      findings.Bad("ib_errors", name, std::move(evidence));
  }

  const ProbeContext context_;
  std::set<std::string> active_;  // at an earlier look
};

}  // namespace

std::unique_ptr<Probe> MakeInfinibandProbe(const ProbeContext& context) {
  return std::make_unique<InfinibandProbe>(context);
}

}  // namespace muster::agent::health
