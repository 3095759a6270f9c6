// What the Xids mean, the numbers by which NVIDIA's driver reports errors of GPUs.
#pragma once

#include <optional>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::health {

// What NVIDIA's catalogue asks for.
enum class XidAction {
  kIgnore,
  kRestartApp,  // the fault of a job's own program, or one that ended with it
  kWatch,       // the details of the message decide
  kResetGpu,
  kReboot,
  kCheckPower,  // mechanics and auxiliary power
  kSupport,
};

// What is behind a message of the kernel's or the driver's.
enum class Cause {
  kHardware,   // broken hardware
  kCorrected,  // an error that the hardware has corrected itself
  kSoftware,   // a job's program, or the kernel
};

struct XidInfo {
  int first, last;  // the same number, or a range that is treated alike
  XidAction action;
  Cause cause;
  absl::string_view meaning;
};

// The edition of the table: rises whenever a row changes.
inline constexpr int kXidTableVersion = 1;

absl::Span<const XidInfo> XidTable();
// nullptr: not in the table.
const XidInfo* FindXid(int xid);

// "ignore", "restart_app", "watch", "reset_gpu", "reboot", "check_power", "support".
absl::string_view Word(XidAction action);
std::optional<XidAction> XidActionOf(absl::string_view word);

// Errors of NVLinks have a condition of their own.
bool IsNvlinkXid(int xid);

// The condition that an Xid with this action turns bad; "": none.
absl::string_view ConditionOf(int xid, XidAction action);

}  // namespace muster::health
