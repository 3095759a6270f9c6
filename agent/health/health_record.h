// What the agent remembers of the node's health from one life to the next.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "agent/health/condition_board.h"
#include "muster/v1/records.pb.h"

namespace muster::agent::health {

// Without its trends. `log_done`: the last record of the kernel's log whose event is on the board.
v1::HealthRecord MakeRecord(const std::string& boot_id, const ConditionBoard& board,
                            std::optional<uint64_t> log_done);

// What of the record is worth writing it for. Left out is what may change at each look: how far the
// log was read, and evidence, unless that of an event has become graver. Pure.
std::string SubstanceOf(v1::HealthRecord record);

// Puts the events back onto the board, and the findings about the conditions that are `watched`
// now. REQUIRES: the record is of this boot.
void Restore(const v1::HealthRecord& record, const std::set<std::string>& watched, absl::Time now,
             ConditionBoard& board);

}  // namespace muster::agent::health
