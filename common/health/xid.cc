#include "common/health/xid.h"

#include <algorithm>
#include <iterator>

namespace muster::health {
namespace {

using enum XidAction;
using enum Cause;

// By NVIDIA's catalogue of Xids. A row or page that waits to be replaced is also read from the GPU
// itself, where it ends with the repair.
constexpr XidInfo kXids[] = {
    {13, 13, kRestartApp, kSoftware, "exception of a kernel: illegal address or instruction"},
    {31, 31, kRestartApp, kSoftware, "page fault"},
    {32, 32, kRestartApp, kSoftware, "corrupted push buffer"},
    {43, 43, kIgnore, kSoftware, "reset of a channel after an error of a program"},
    {45, 45, kIgnore, kSoftware, "cleanup after a program that ended"},
    {46, 46, kResetGpu, kHardware, "the GPU stopped"},
    {48, 48, kWatch, kHardware, "uncorrectable memory error"},
    {54, 54, kCheckPower, kHardware, "auxiliary power is not connected"},
    {62, 62, kResetGpu, kHardware, "the GPU's microcontroller halted"},
    {63, 63, kIgnore, kCorrected, "a row or page of memory is to be replaced"},
    {64, 64, kResetGpu, kHardware, "the replacement of a row or page failed"},
    {74, 74, kWatch, kHardware, "error of an NVLink"},
    {79, 79, kReboot, kHardware, "the GPU has fallen off the bus"},
    {92, 92, kIgnore, kCorrected, "high rate of corrected memory errors"},
    {94, 94, kRestartApp, kSoftware, "uncorrectable memory error in a single program"},
    {95, 95, kResetGpu, kHardware, "uncorrectable memory error in more than one program"},
    {109, 109, kResetGpu, kHardware, "context switch timed out"},
    {110, 110, kResetGpu, kHardware, "security fault"},
    {119, 119, kResetGpu, kHardware, "the GPU's system processor does not answer"},
    {120, 120, kResetGpu, kHardware, "error of the GPU's system processor"},
    {121, 121, kIgnore, kCorrected, "corrected error of the link between chips"},
    {136, 136, kResetGpu, kHardware, "the GPU has to be reset"},
    {137, 137, kIgnore, kSoftware, "forbidden access over NVLink"},
    {140, 140, kResetGpu, kHardware, "uncorrectable memory error"},
    {143, 143, kResetGpu, kHardware, "the GPU could not be initialized"},
    {144, 150, kWatch, kHardware, "error of an NVLink of the fifth generation"},
    {154, 154, kWatch, kHardware, "the GPU says how it wants to be recovered"},
    {155, 156, kResetGpu, kHardware, "the GPU has to be reset"},
    {157, 157, kSupport, kHardware, "the GPU's vendor has to be asked"},
    {158, 158, kResetGpu, kHardware, "the GPU has to be reset"},
};

// In the order of XidAction.
constexpr absl::string_view kWords[] = {"ignore", "restart_app", "watch",  "reset_gpu",
                                        "reboot", "check_power", "support"};

}  // namespace

absl::Span<const XidInfo> XidTable() { return kXids; }

const XidInfo* FindXid(int xid) {
  const auto* const found =
      std::find_if(std::begin(kXids), std::end(kXids),
                   [xid](const XidInfo& row) { return row.first <= xid && xid <= row.last; });
  return found == std::end(kXids) ? nullptr : found;
}

absl::string_view Word(XidAction action) { return kWords[static_cast<int>(action)]; }

std::optional<XidAction> XidActionOf(absl::string_view word) {
  const auto* const found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) return std::nullopt;
  return static_cast<XidAction>(found - std::begin(kWords));
}

bool IsNvlinkXid(int xid) { return xid == 74 || (144 <= xid && xid <= 150); }

absl::string_view ConditionOf(int xid, XidAction action) {
  if (action == kIgnore || action == kRestartApp) return "";
  if (action == kWatch) return IsNvlinkXid(xid) ? "nvlink_error" : "gpu_xid_watch";
  return "gpu_xid";
}

}  // namespace muster::health
