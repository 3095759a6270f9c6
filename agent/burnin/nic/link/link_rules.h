// What is wrong with a link, from what it was before and after a test and what it should be.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/burnin/nic/link/link_state.h"
#include "agent/burnin/result.h"

namespace muster::burnin {

// nullopt: whatever it has is right.
struct LinkExpectation {
  std::optional<double> speed_mbits;
  std::optional<double> mtu;
  bool must_be_up = false;
};

// Before and after; of the card itself where the driver counts it.
struct LinkReading {
  LinkState state;
  std::optional<uint64_t> damaged_frames;
};

// Adds metrics and faults for one interface. Pure.
void JudgeLink(const LinkReading& before, const LinkReading& after,
               const LinkExpectation& expectation, CheckResult& result);
// The part of it that is about counters: what grew meanwhile, and a fault for damaged frames. Pure.
void JudgeCounters(const LinkReading& before, const LinkReading& after, CheckResult& result);

}  // namespace muster::burnin
