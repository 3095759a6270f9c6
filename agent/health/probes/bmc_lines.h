// What ipmi-sensors(8) and ipmi-sel(8) of FreeIPMI print with --comma-separated-output and
// --no-header-output. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::agent::health {

// A sensor of the machine's management controller (BMC), or an event of its log.
struct BmcLine {
  std::string id;            // the record's
  std::string date, time;    // of an event: "Nov-27-2026", "21:10:11"; or "PostInit", twice
  std::string name;          // of the sensor
  std::string type;          // "Fan", "Power Supply", "Memory", …
  bool is_critical = false;  // by FreeIPMI's interpretation of what the BMC says
  std::string rest;          // the reading with its unit, where there is one, and what it means
};

// How many fields come before the name.
inline constexpr size_t kBeforeSensorName = 1;  // ipmi-sensors --output-sensor-state: the id
inline constexpr size_t kBeforeEventName = 3;   // ipmi-sel --output-event-state: id, date, time

// Lines that have no state are left out; a name may have commas.
std::vector<BmcLine> ReadBmcLines(absl::string_view output, size_t before_name);

// The event as a number: its time in seconds since 1970, as the BMC's clock has it (0: it has
// none), times kEventIds, plus the id of its record. Events that follow each other in a log have
// different ones. Whole, and less than 2^53.
inline constexpr int kEventIds = 1 << 16;
double EventNumber(const BmcLine& event);

// The first of the `events`, in the order of the log, that was logged after the one with the number
// `newest`. A log that is full may have overwritten that one, and a cleared one has lost it: what
// is left is newer if its time is, or if it has none.
size_t FirstAfter(const std::vector<BmcLine>& events, double newest);

// Whether what `ipmi-sel --info` prints says that the log was full and events were lost.
bool HasLostEvents(absl::string_view info);

}  // namespace muster::agent::health
