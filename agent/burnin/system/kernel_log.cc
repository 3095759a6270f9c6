#include "agent/burnin/system/kernel_log.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "common/health/kernel_message.h"
#include "common/health/xid.h"

namespace muster::burnin {
namespace {

void AddBroken(absl::string_view line, KernelLogFindings& findings) {
  ++findings.broken_count;
  if (findings.broken.size() < KernelLogFindings::kMaxLines) {
    findings.broken.emplace_back(line);
  } else {
    findings.broken.back() = std::string(line);
  }
}

}  // namespace

std::optional<double> KernelTimeOf(absl::string_view line) {
  double seconds = 0;
  const size_t end = line.find(']');
  if (!absl::StartsWith(line, "[") || end == absl::string_view::npos ||
      !absl::SimpleAtod(absl::StripAsciiWhitespace(line.substr(1, end - 1)), &seconds) ||
      !(seconds >= 0))
    return std::nullopt;
  return seconds;
}

std::optional<XidLine> ParseXid(absl::string_view line) {
  std::optional<health::XidMessage> message = health::ParseXidMessage(line);
  if (!message.has_value()) return std::nullopt;
  return XidLine{.at = KernelTimeOf(line), .slot = std::move(message->slot), .xid = message->xid};
}

void KernelLogReader::TakeXid(int number, absl::string_view line) {
  const health::XidInfo* const xid = health::FindXid(number);
  if (xid == nullptr) {
    findings_.unlisted_xids.insert(number);
    return;
  }
  if (xid->cause == health::Cause::kHardware) AddBroken(line, findings_);
  if (xid->cause == health::Cause::kCorrected) ++findings_.corrected;
  if (xid->cause == health::Cause::kSoftware) ++findings_.application;
}

void KernelLogReader::Take(absl::string_view line) {
  const std::optional<double> time = KernelTimeOf(line);
  if (!begins_at_.has_value()) begins_at_ = time;
  if (time.has_value() && *time < since_seconds_) return;
  if (const std::optional<health::XidMessage> xid = health::ParseXidMessage(line)) {
    TakeXid(xid->xid, line);
  } else if (const std::optional<health::MessageMeaning> meaning =
                 health::ReadKernelMessage(line)) {
    if (meaning->cause == health::Cause::kHardware) AddBroken(line, findings_);
    if (meaning->cause == health::Cause::kCorrected) ++findings_.corrected;
  }
}

}  // namespace muster::burnin
