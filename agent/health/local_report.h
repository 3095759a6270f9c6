// The node's conditions as a file of this node, for programs that have no time to ask anybody.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/health/health_report.h"

namespace muster::agent::health {

inline constexpr char kLocalReport[] = "/run/muster/health";
// The agent writes it so often even when nothing changes, and an older one is stale.
inline constexpr absl::Duration kLocalReportInterval = absl::Minutes(1);
inline constexpr absl::Duration kLocalReportLife = absl::Minutes(5);

struct LocalReport {
  absl::Duration since_boot;  // when it was written: a clock that is set does not matter
  std::vector<ReportRow> rows;
};

// Pure. A line each, fields separated by tabs.
std::string FormatLocalReport(const LocalReport& report);
absl::StatusOr<LocalReport> ParseLocalReport(absl::string_view text);

// Time since the boot, with the time in which the machine slept.
absl::Duration TimeSinceBoot();

// What `muster-agent health` prints, and its exit status.
struct LocalAnswer {
  std::string text;
  int exit_code = 0;
};
inline constexpr int kLocalOk = 0;
inline constexpr int kLocalBad = 1;
inline constexpr int kLocalUnknown = 2;

// For Slurm's HealthCheckProgram: nothing when no condition drains the node, and one line otherwise
// or when the report says nothing about now. Pure.
LocalAnswer AnswerSlurm(const absl::StatusOr<LocalReport>& report, absl::Duration since_boot);
// For people: all conditions that are bad or unknown. Pure.
LocalAnswer AnswerPerson(const absl::StatusOr<LocalReport>& report, absl::Duration since_boot);

}  // namespace muster::agent::health
