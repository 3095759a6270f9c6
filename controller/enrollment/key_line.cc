#include "controller/enrollment/key_line.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::controller {

KeyUse JudgeKey(const std::vector<CertificateRecord>& line, absl::string_view serial) {
  const auto shown = std::find_if(line.begin(), line.end(),
                                  [&](const auto& each) { return each.serial == serial; });
  if (shown == line.end()) return KeyUse::kForgotten;
  const CertificateRecord* used = NewestUsed(line);
  if (used != nullptr && shown->generation < used->generation) return KeyUse::kCopied;
  // No certificate precedes that of the join, so its first use says nothing.
  if (shown->used_at.has_value() || shown->generation == 0) return KeyUse::kKnown;
  return KeyUse::kFirst;
}

const CertificateRecord* NewestUsed(const std::vector<CertificateRecord>& line) {
  const CertificateRecord* newest = nullptr;
  for (const CertificateRecord& each : line) {
    if (!each.used_at.has_value()) continue;
    if (newest == nullptr || newest->generation < each.generation) newest = &each;
  }
  return newest;
}

absl::Status KeyCopied() {
  return absl::PermissionDeniedError(
      "two machines have used this node's key, so it is locked; an administrator finds both in the "
      "audit log and enrolls the node again");
}

absl::Status CheckMember(const absl::StatusOr<NodeRecord>& node) {
  if (absl::IsNotFound(node.status()) ||
      (node.ok() && node->state != NodeRecord::kEnrolled && node->state != NodeRecord::kConfigured))
    return absl::PermissionDeniedError(
        "this machine is no longer enrolled; make a token with `muster token create` and join");
  RETURN_IF_ERROR(node.status());
  return node->locked_because.empty() ? absl::OkStatus() : KeyCopied();
}

absl::Status CheckPace(const std::vector<CertificateRecord>& certificates, absl::string_view whose,
                       absl::Time now) {
  constexpr absl::Duration kWindow = absl::Hours(1);
  constexpr int kMost = 12;
  const auto recent =
      std::count_if(certificates.begin(), certificates.end(),
                    [&](const CertificateRecord& each) { return each.not_before > now - kWindow; });
  if (recent < kMost) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(whose, " got ", recent, " certificates within ",
                                                   absl::FormatDuration(kWindow),
                                                   "; wait that long before the next one"));
}

uint64_t NewestGeneration(const std::vector<CertificateRecord>& line) {
  uint64_t newest = 0;
  for (const CertificateRecord& each : line) newest = std::max(newest, each.generation);
  return newest;
}

}  // namespace muster::controller
