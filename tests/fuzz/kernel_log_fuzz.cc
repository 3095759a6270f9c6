// What the agent reads to watch health: the kernel's log, readings of GPUs, mounts, what a BMC
// says, and its own report. Any bytes end as nothing or as short, plain texts.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_split.h"
#include "agent/health/condition_board.h"
#include "agent/health/local_report.h"
#include "agent/health/log_events.h"
#include "agent/health/log_record.h"
#include "agent/health/probes/bmc_lines.h"
#include "agent/health/probes/gpu_readings.h"
#include "agent/health/probes/mounted.h"
#include "common/base/text/plain_text.h"
#include "common/health/catalogue.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace muster::agent::health;

void Expect(bool holds) {
  if (!holds) std::abort();
}

void ReadLog(absl::string_view text) {
  const absl::Time now = absl::FromUnixSeconds(1'900'000'000);
  ConditionBoard board;
  LogPosition position;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const auto record = ParseLogRecord(line);
    if (!record.has_value() || !position.Take(record->sequence)) continue;
    auto event = ReadEvent(record->text, now, {}, [](absl::string_view) { return std::string(); });
    if (event.has_value()) board.AddEvent(*std::move(event), now);
    const std::string device = MountedDevice(record->text);
    if (!device.empty()) board.Clear(kConditionOfMount, device);
  }
  for (const ConditionRow& row : board.Rows()) {
    Expect(muster::health::FindCondition(row.condition) != nullptr);
    Expect(row.object.size() <= ConditionBoard::kMaxObjectBytes);
    Expect(row.evidence.size() <= ConditionBoard::kMaxEvidenceBytes);
    Expect(muster::IsPlain(row.object, muster::Lines::kOne));
    Expect(muster::IsPlain(row.evidence, muster::Lines::kOne));
  }
}

}  // namespace

FUZZ_TARGET(kernel_log, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  ReadLog(text);
  const GpuReadings readings = ParseGpuReadings(text);
  Expect(readings.gpus.size() <= kMaxGpus);
  Trends trends;
  Findings findings;
  JudgeGpus(readings, {}, trends, absl::FromUnixSeconds(1'900'000'000), findings);
  (void)ParseMountInfo(text);
  for (const size_t before_name : {kBeforeSensorName, kBeforeEventName})
    for (const BmcLine& line : ReadBmcLines(text, before_name)) Expect(line.name.size() < size);
  const std::vector<BmcLine> events = ReadBmcLines(text, kBeforeEventName);
  if (!events.empty()) Expect(FirstAfter(events, EventNumber(events.back())) == events.size());
  (void)HasLostEvents(text);
  const auto report = ParseLocalReport(text);
  (void)AnswerSlurm(report, absl::Hours(1));
  (void)AnswerPerson(report, absl::Hours(1));
  return 0;
}
