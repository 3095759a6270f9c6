#include "controller/validation/verdict/gone_devices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace muster::controller::validation {
namespace {

constexpr absl::string_view kGpu = "gpu";

bool MissesDevices(const JudgedResult& judged) {
  const auto& findings = judged.verdict->findings();
  return std::any_of(findings.begin(), findings.end(), [](const v1::Finding& finding) {
    // A GPU that does not even report its uuid is lost without a subject.
    return finding.metric() == "gpu_count" || finding.metric() == "missing_device" ||
           (finding.metric() == "gpu_lost" && finding.subject().empty());
  });
}

v1::Finding Gone(const v1::Subject& device, absl::Time seen) {
  v1::Finding finding;
  finding.set_outcome(v1::OUTCOME_FAIL);
  finding.set_metric("device_gone");
  finding.set_subject(device.id());
  finding.set_slot(device.slot());
  finding.set_source(absl::FormatTime("pass of %Y-%m-%d %H:%M UTC", seen, absl::UTCTimeZone()));
  const auto serial = device.attributes().find("serial");
  finding.set_message(absl::StrCat(
      "it passed then and is no longer visible",
      serial == device.attributes().end() ? "" : absl::StrCat(" (serial ", serial->second, ")"),
      ": look for its slot in lspci and in the kernel's log"));
  return finding;
}

}  // namespace

void JudgeGoneDevices(absl::Span<const JudgedResult> results, const NewestPass& newest) {
  for (const JudgedResult& judged : results) {
    if (judged.spec->scope != checks::Scope::kNode || !MissesDevices(judged)) continue;
    const EarlierPass earlier = newest(judged);
    if (earlier.result == nullptr) continue;
    std::set<absl::string_view> seen;
    for (const v1::Subject& subject : judged.result->subjects()) seen.insert(subject.id());
    for (const v1::Subject& subject : earlier.result->subjects()) {
      if (subject.kind() != kGpu || seen.count(subject.id()) > 0) continue;
      AddFinding(Gone(subject, earlier.reported_at), judged.verdict);
    }
  }
}

}  // namespace muster::controller::validation
