// Finds what is wrong with a link, from its state before and after a test and its expected state.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/burnin/nic/link/link_state.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// nullopt: anything is right.
struct LinkExpectation {
  std::optional<double> speed_mbits;
  std::optional<double> mtu;
  bool must_be_up = false;
};

// A reading before or after; from the card itself if the driver counts it.
struct LinkReading {
  LinkState state;
  std::optional<uint64_t> damaged_frames;
};

// Adds metrics and faults for one interface. Pure.
void JudgeLink(const LinkReading& before, const LinkReading& after,
               const LinkExpectation& expectation, CheckResult& result);
// The counters' part of it: their growth meanwhile, and a fault for damaged frames. Pure.
void JudgeCounters(const LinkReading& before, const LinkReading& after, CheckResult& result);

}  // namespace muster::burnin
