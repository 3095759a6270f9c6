#include "agent/health/local_report.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::agent::health {
namespace {

using muster::health::Severity;

constexpr absl::string_view kFormat = "muster-health 1";
constexpr absl::string_view kAt = "at";
// bad|unknown drain|- severity condition object since evidence
enum Field { kStatus, kDrains, kSeverity, kCondition, kObject, kSince, kEvidence, kFields };

// The board's texts hold no control characters; those of the catalogue do not either.
std::string FormatRow(const ReportRow& local) {
  const ConditionRow& row = local.row;
  return absl::StrJoin(
      {std::string(row.status == Status::kBad ? "bad" : "unknown"),
       std::string(local.drains ? "drain" : "-"), std::string(Word(local.severity)), row.condition,
       row.object, absl::StrCat(absl::ToUnixSeconds(row.since)), row.evidence},
      "\t");
}

absl::StatusOr<ReportRow> ParseRow(absl::string_view line) {
  const std::vector<std::string> fields = absl::StrSplit(line, '\t');
  int64_t since = 0;
  if (fields.size() != kFields || !absl::SimpleAtoi(fields[kSince], &since))
    return absl::DataLossError("a line of the report is damaged");
  return ReportRow{.row = {.condition = fields[kCondition],
                           .object = fields[kObject],
                           .status = fields[kStatus] == "bad" ? Status::kBad : Status::kUnknown,
                           .since = absl::FromUnixSeconds(since),
                           .evidence = fields[kEvidence]},
                   .severity = fields[kSeverity] == Word(Severity::kFatal) ? Severity::kFatal
                                                                           : Severity::kWarning,
                   .drains = fields[kDrains] == "drain"};
}

std::string Title(const ConditionRow& row) {
  return row.object.empty() ? row.condition : absl::StrCat(row.condition, " ", row.object);
}

// Why the report says nothing about now; "": it does.
std::string Staleness(const absl::StatusOr<LocalReport>& report, absl::Duration since_boot) {
  if (absl::IsNotFound(report.status()))
    return "the agent has not reported yet: is muster-agent.service running?";
  if (!report.ok()) return std::string(report.status().message());
  const absl::Duration age = since_boot - report->since_boot;
  if (age >= absl::ZeroDuration() && age <= kLocalReportLife) return "";
  return absl::StrCat("the agent's last report is ",
                      absl::FormatDuration(absl::Trunc(age, absl::Seconds(1))),
                      " old: is muster-agent.service running?");
}

}  // namespace

absl::Duration TimeSinceBoot() {
  timespec now = {};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::DurationFromTimespec(now);
}

std::string FormatLocalReport(const LocalReport& report) {
  std::string text =
      absl::StrCat(kFormat, "\n", kAt, "\t", absl::ToInt64Seconds(report.since_boot), "\n");
  for (const ReportRow& row : report.rows) absl::StrAppend(&text, FormatRow(row), "\n");
  return text;
}

absl::StatusOr<LocalReport> ParseLocalReport(absl::string_view text) {
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  int64_t at = 0;
  if (lines.size() < 2 || lines[0] != kFormat ||
      !absl::SimpleAtoi(lines[1].substr(std::min(lines[1].size(), kAt.size() + 1)), &at))
    return absl::DataLossError("the agent's report is damaged");
  LocalReport report = {.since_boot = absl::Seconds(at), .rows = {}};
  for (size_t i = 2; i < lines.size(); ++i) {
    absl::StatusOr<ReportRow> row = ParseRow(lines[i]);
    if (!row.ok()) return row.status();
    report.rows.push_back(*std::move(row));
  }
  return report;
}

LocalAnswer AnswerSlurm(const absl::StatusOr<LocalReport>& report, absl::Duration since_boot) {
  const std::string stale = Staleness(report, since_boot);
  if (!stale.empty())
    return {.text = absl::StrCat("muster: health unknown: ", stale, "\n"),
            .exit_code = kLocalUnknown};
  std::vector<std::string> drains;
  std::string evidence;
  for (const ReportRow& local : report->rows) {
    if (!local.drains || local.row.status != Status::kBad) continue;
    if (drains.empty()) evidence = local.row.evidence;
    drains.push_back(Title(local.row));
  }
  if (drains.empty()) return {};
  constexpr size_t kMaxNamed = 5;
  const size_t more = drains.size() > kMaxNamed ? drains.size() - kMaxNamed : 0;
  drains.resize(drains.size() - more);
  return {.text = absl::StrCat("muster: ", absl::StrJoin(drains, ", "),
                               more > 0 ? absl::StrCat(" and ", more, " more") : "", ": ", evidence,
                               "\n"),
          .exit_code = kLocalBad};
}

LocalAnswer AnswerPerson(const absl::StatusOr<LocalReport>& report, absl::Duration since_boot) {
  const std::string stale = Staleness(report, since_boot);
  if (!stale.empty())
    return {.text = absl::StrCat("unknown: ", stale, "\n"), .exit_code = kLocalUnknown};
  if (report->rows.empty()) return {.text = "all conditions are well\n"};
  LocalAnswer answer;
  for (const ReportRow& local : report->rows) {
    const ConditionRow& row = local.row;
    if (row.status == Status::kBad) answer.exit_code = kLocalBad;
    absl::StrAppend(&answer.text, row.status == Status::kBad ? Word(local.severity) : "unknown",
                    local.drains && row.status == Status::kBad ? " (drains)" : "", ": ", Title(row),
                    " since ",
                    absl::FormatTime("%Y-%m-%d %H:%M:%SZ", row.since, absl::UTCTimeZone()), ": ",
                    row.evidence, "\n");
  }
  return answer;
}

}  // namespace muster::agent::health
