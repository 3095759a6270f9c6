#include "agent/health/log_events.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/health/hold.h"
#include "common/health/kernel_message.h"

namespace muster::agent::health {
namespace {

using muster::health::XidAction;

// "Xid 79 (the GPU has fallen off the bus; reboot): NVRM: …"
constexpr absl::string_view kXid = "Xid ", kBeforeAction = "; ", kAfterAction = "): ";

constexpr absl::string_view kOfDriver[] = {"gpu_xid", "gpu_xid_watch", "nvlink_error"};

// "XFS (sda1): Unmounting Filesystem". From fs/ext4/super.c, where kernels before 5.19 say nothing
// about unmounting, and fs/xfs/.
struct MountLine {
  absl::string_view driver, words;
};
constexpr MountLine kMountLines[] = {
    {"EXT4-fs (", "): mounted filesystem"},
    {"EXT4-fs (", "): unmounting filesystem"},
    {"XFS (", "): Mounting V"},
    {"XFS (", "): Unmounting Filesystem"},
};

// "0000:3b:00": with its digits, so that no other words can pass for the driver's.
bool IsSlot(absl::string_view slot) {
  constexpr absl::string_view kShape = "0000:00:00";
  if (slot.size() < kShape.size() || slot.size() > kShape.size() + 2) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    const bool is_digit = absl::StrContains("0123456789abcdef", slot.substr(i, 1));
    if (kShape[i] == ':' ? slot[i] != ':' : !is_digit) return false;
  }
  return true;
}

Event MakeEvent(absl::string_view condition, std::string object, absl::string_view text,
                absl::Time at) {
  return {.condition = std::string(condition),
          .object = std::move(object),
          .evidence = std::string(text),
          .since = at,
          .until = at + muster::health::HoldOf(condition).value_or(absl::InfiniteDuration()),
          .gravity = GravityOf(text)};
}

std::string GpuOr(absl::string_view slot,
                  const std::function<std::string(absl::string_view)>& gpu_at) {
  std::string uuid = gpu_at(slot);
  return uuid.empty() ? std::string(slot) : uuid;
}

}  // namespace

std::optional<Event> ReadEvent(absl::string_view text, absl::Time at, const XidActions& actions,
                               const std::function<std::string(absl::string_view)>& gpu_at) {
  if (const std::optional<muster::health::XidMessage> message =
          muster::health::ParseXidMessage(text)) {
    if (!IsSlot(message->slot)) return std::nullopt;
    const muster::health::XidInfo* const known = muster::health::FindXid(message->xid);
    const auto site = actions.find(message->xid);
    const XidAction action = site != actions.end() ? site->second
                             : known != nullptr    ? known->action
                                                   : XidAction::kWatch;
    const absl::string_view condition = muster::health::ConditionOf(message->xid, action);
    if (condition.empty()) return std::nullopt;
    return MakeEvent(condition, GpuOr(message->slot, gpu_at),
                     absl::StrCat(kXid, message->xid, " (",
                                  known != nullptr ? known->meaning : "not in the table",
                                  kBeforeAction, muster::health::Word(action), kAfterAction, text),
                     at);
  }
  std::optional<muster::health::MessageMeaning> meaning = muster::health::ReadKernelMessage(text);
  if (!meaning.has_value() || meaning->condition.empty()) return std::nullopt;
  std::string object = std::move(meaning->object);
  if (meaning->condition == "gpu_xid") object = GpuOr(object, gpu_at);
  return MakeEvent(meaning->condition, std::move(object), text, at);
}

int GravityOf(absl::string_view evidence) {
  if (!absl::ConsumePrefix(&evidence, kXid)) {
    // The driver says the same without a number.
    const bool is_gone = absl::StrContains(evidence, "fallen off the bus");
    return is_gone ? static_cast<int>(XidAction::kReboot) : 0;
  }
  // The meaning of an Xid has none of these marks.
  const size_t end = evidence.find(kAfterAction);
  const size_t mark = evidence.substr(0, end).rfind(kBeforeAction);
  if (end == absl::string_view::npos || mark == absl::string_view::npos) return 0;
  const size_t begin = mark + kBeforeAction.size();
  const std::optional<XidAction> action =
      muster::health::XidActionOf(evidence.substr(begin, end - begin));
  return action.has_value() ? static_cast<int>(*action) : 0;
}

bool IsFailedCard(absl::string_view text) {
  return absl::StrContains(text, muster::health::kCardWithoutAnswer);
}

bool IsDriverStart(absl::string_view text) {
  return absl::StartsWith(text, "NVRM: loading NVIDIA UNIX");
}

absl::Span<const absl::string_view> ConditionsOfDriver() { return kOfDriver; }

std::string MountedDevice(absl::string_view text) {
  for (const MountLine& line : kMountLines) {
    absl::string_view rest = text;
    if (!absl::ConsumePrefix(&rest, line.driver)) continue;
    const absl::string_view device = rest.substr(0, rest.find(')'));
    if (absl::StartsWith(rest.substr(device.size()), line.words)) return std::string(device);
  }
  return "";
}

}  // namespace muster::agent::health
