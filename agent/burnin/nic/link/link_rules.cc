#include "agent/burnin/nic/link/link_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/text/counted.h"

namespace muster::burnin {
namespace {

// A metric and the sysfs counter whose growth it is.
struct CounterRow {
  absl::string_view metric;
  const char* counter;
};
constexpr CounterRow kJudgedCounters[] = {
    {"rx_errors", "rx_errors"},
    {"tx_errors", "tx_errors"},
    {"rx_dropped", "rx_dropped"},
    {"tx_dropped", "tx_dropped"},
};

std::optional<int64_t> Growth(const LinkState& before, const LinkState& after,
                              const char* counter) {
  const auto old = before.counters.find(counter);
  const auto now = after.counters.find(counter);
  if (old == before.counters.end() || now == after.counters.end()) return std::nullopt;
  return now->second - old->second;
}

void JudgeSettings(const LinkState& link, const LinkExpectation& expectation, CheckResult& result) {
  if (link.speed_mbits) {
    AddMetric(result, "speed_mbits", "", link.name, static_cast<double>(*link.speed_mbits));
    if (expectation.speed_mbits &&
        static_cast<double>(*link.speed_mbits) != *expectation.speed_mbits)
      AddFault(result, "wrong_speed", link.name,
               absl::StrCat(link.name, " runs at ", *link.speed_mbits, " Mbit/s, not ",
                            *expectation.speed_mbits, ": check cable, port and autonegotiation"));
  } else if (expectation.speed_mbits) {
    AddUnknown(result, absl::StrCat(link.name, " does not report its speed"));
  }
  if (link.duplex == "half")
    AddFault(result, "half_duplex", link.name,
             absl::StrCat(link.name, " runs at half duplex: one end does not negotiate"));
  if (link.mtu) {
    AddMetric(result, "mtu", "", link.name, static_cast<double>(*link.mtu));
    if (expectation.mtu && static_cast<double>(*link.mtu) != *expectation.mtu)
      AddFault(result, "wrong_mtu", link.name,
               absl::StrCat(link.name, " has an MTU of ", *link.mtu, ", not ", *expectation.mtu));
  } else if (expectation.mtu) {
    AddUnknown(result, absl::StrCat(link.name, " does not report its MTU"));
  }
}

void JudgePcie(const LinkState& link, CheckResult& result) {
  if (!link.pcie) return;
  AddMetric(result, "pcie_width", "", link.name, link.pcie->width);
  AddMetric(result, "pcie_speed_gts", "", link.name, link.pcie->speed_gts);
  if (link.pcie_possible && (link.pcie->width < link.pcie_possible->width ||
                             link.pcie->speed_gts < link.pcie_possible->speed_gts))
    AddFault(result, "pcie_degraded", link.name,
             absl::StrCat(link.name, " (", link.pci_address, ") has ", link.pcie->width,
                          " PCIe lanes of ", link.pcie->speed_gts, " GT/s; card and slot can do ",
                          link.pcie_possible->width, " of ", link.pcie_possible->speed_gts));
}

void JudgeDamage(const LinkReading& before, const LinkReading& after, CheckResult& result) {
  // The kernel's counter and the card's own count the same frames.
  std::optional<int64_t> damaged = Growth(before.state, after.state, "rx_crc_errors");
  if (before.damaged_frames && after.damaged_frames)
    damaged = std::max(damaged.value_or(0),
                       static_cast<int64_t>(*after.damaged_frames - *before.damaged_frames));
  if (!damaged) return;
  const std::string& name = after.state.name;
  AddMetric(result, "rx_crc_errors", "", name, static_cast<double>(*damaged));
  if (*damaged > 0)
    AddFault(result, "crc_errors", name,
             absl::StrCat(name, " received ", Counted(*damaged, "damaged frame"),
                          " during the test: check cable and transceivers"));
}

}  // namespace

void JudgeLink(const LinkReading& before, const LinkReading& after,
               const LinkExpectation& expectation, CheckResult& result) {
  const LinkState& link = after.state;
  const bool up = link.operstate == "up" || (link.operstate == "unknown" && link.carrier == true);
  if (!up && expectation.must_be_up)
    AddFault(result, "link_down", link.name,
             absl::StrCat(link.name, " is ", link.operstate, ": check cable and switch port"));
  if (up) JudgeSettings(link, expectation, result);
  JudgePcie(link, result);
  if (before.state.carrier_changes && link.carrier_changes) {
    const int64_t changes = *link.carrier_changes - *before.state.carrier_changes;
    AddMetric(result, "carrier_changes", "", link.name, static_cast<double>(changes));
    if (changes > 0)
      AddFault(result, "link_flapped", link.name,
               absl::StrCat("the carrier of ", link.name, " changed ", Counted(changes, "time"),
                            " during the test"));
  }
  JudgeCounters(before, after, result);
}

void JudgeCounters(const LinkReading& before, const LinkReading& after, CheckResult& result) {
  const LinkState& link = after.state;
  JudgeDamage(before, after, result);
  for (const CounterRow& row : kJudgedCounters) {
    const std::optional<int64_t> growth = Growth(before.state, link, row.counter);
    if (!growth) continue;
    if (*growth < 0) {
      AddUnknown(result, absl::StrCat("the counters of ", link.name,
                                      " decreased: it was reset during the test"));
      return;
    }
    AddMetric(result, row.metric, "", link.name, static_cast<double>(*growth));
  }
}

}  // namespace muster::burnin
