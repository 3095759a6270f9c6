#include "controller/rollout/plan/limits.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/plain_text.h"

namespace muster::controller::rollout {
namespace {

constexpr int kMaxWords = 100;
constexpr size_t kMaxWordBytes = 32;

// "4" or "25%".
struct Share {
  uint32_t number = 0;
  bool is_percent = false;
};

absl::Status WordError(absl::string_view field, absl::string_view word, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", PlainText(word, Lines::kOne, kMaxWordBytes), "' ", what));
}

absl::StatusOr<Share> ParseShare(absl::string_view field, absl::string_view word) {
  Share share;
  absl::string_view digits = word;
  share.is_percent = absl::ConsumeSuffix(&digits, "%");
  const bool is_number =
      !digits.empty() && std::all_of(digits.begin(), digits.end(),
                                     [](unsigned char c) { return absl::ascii_isdigit(c); });
  if (!is_number || !absl::SimpleAtoi(digits, &share.number)) {
    return WordError(field, word, "is not a number of nodes, like 4, nor a percentage, like 25%");
  }
  if (share.number == 0) return WordError(field, word, "is no node at all; give at least 1");
  if (share.is_percent && share.number > 100) {
    return WordError(field, word, "is above 100%; give a percentage of the nodes, like 25%");
  }
  return share;
}

// Percentages up for a wave, which needs a node, and down for a limit, which is to hold.
enum class Rounding { kUp, kDown };
uint32_t NodesOf(Share share, uint32_t nodes, Rounding rounding) {
  if (!share.is_percent) return std::min(share.number, nodes);
  const uint64_t hundredths = uint64_t{nodes} * share.number;
  const uint64_t rounded = (hundredths + (rounding == Rounding::kUp ? 99 : 0)) / 100;
  return std::max<uint32_t>(static_cast<uint32_t>(rounded), 1);
}

absl::StatusOr<std::vector<uint32_t>> WaveSizes(const v1::CreateRolloutRequest& request,
                                                uint32_t nodes) {
  if (request.waves_size() > kMaxWords) {
    return absl::InvalidArgumentError(
        absl::StrCat("waves: ", request.waves_size(), " waves; give at most ", kMaxWords));
  }
  std::vector<uint32_t> sizes;
  const uint32_t canary = request.has_canary() ? request.canary() : 1;
  if (canary > 0) sizes.push_back(std::min(canary, nodes));
  std::optional<Share> before;
  for (const std::string& word : request.waves()) {
    ASSIGN_OR_RETURN(const Share share, ParseShare("waves", word));
    if (before.has_value() && before->is_percent == share.is_percent &&
        share.number <= before->number) {
      return WordError("waves", word,
                       "is not more than the wave before; each wave is the number of nodes that "
                       "are taken by its end, like 4, 16, 50%");
    }
    before = share;
    const uint32_t size = NodesOf(share, nodes, Rounding::kUp);
    const uint32_t last = sizes.empty() ? 0 : sizes.back();
    if (size < last) {
      return WordError(
          "waves", word,
          absl::StrCat("is ", size, " of ", Counted(nodes, "node"), ", fewer than the ", last,
                       " of the wave before; let the waves rise"));
    }
    // Percentages of a small cluster may come to the same number.
    if (size > last) sizes.push_back(size);
  }
  if (sizes.empty() || sizes.back() < nodes) sizes.push_back(nodes);
  return sizes;
}

absl::StatusOr<absl::Duration> NotNegative(absl::string_view field,
                                           const google::protobuf::Duration& given) {
  const absl::Duration duration = ToDuration(given);
  if (duration < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(field, ": ", absl::FormatDuration(duration),
                                                   " is negative; give a time like 30m or 24h"));
  }
  return duration;
}

absl::StatusOr<std::vector<Window>> ParseWindows(const v1::CreateRolloutRequest& request) {
  if (request.windows_size() > kMaxWords) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows: ", request.windows_size(), " windows; give at most ", kMaxWords));
  }
  std::vector<Window> windows;
  for (const std::string& word : request.windows()) {
    ASSIGN_OR_RETURN(const Window window, ParseWindow(word));
    windows.push_back(window);
  }
  return windows;
}

}  // namespace

uint32_t WorkerCount(const v1::CreateRolloutRequest& request, uint32_t nodes) {
  return request.login_and_storage() ? std::min(request.workers(), nodes) : nodes;
}

absl::Status CheckReboots(const v1::CreateRolloutRequest& request) {
  if (request.reboots() != v1::REBOOT_MODE_ALWAYS || !request.login_and_storage())
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      "reboot: 'always' would also reboot login and storage nodes, where users are logged in; "
      "leave login_and_storage out, and update those by `muster apply`");
}

absl::StatusOr<Limits> ResolveLimits(const v1::CreateRolloutRequest& request, uint32_t nodes) {
  RETURN_IF_ERROR(CheckReboots(request));
  nodes = WorkerCount(request, nodes);
  Limits limits;
  ASSIGN_OR_RETURN(limits.wave_sizes, WaveSizes(request, nodes));
  Share unavailable{kDefaultUnavailablePercent, true};
  if (!request.max_unavailable().empty()) {
    ASSIGN_OR_RETURN(unavailable, ParseShare("max_unavailable", request.max_unavailable()));
  }
  limits.max_unavailable = NodesOf(unavailable, nodes, Rounding::kDown);
  limits.max_per_rack = request.max_per_rack();
  limits.max_per_switch = request.max_per_switch();
  limits.failure_budget = request.failure_budget();
  limits.rolls_back = request.on_failure() == v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK;
  if (request.has_soak()) {
    ASSIGN_OR_RETURN(limits.soak, NotNegative("soak", request.soak()));
  }
  ASSIGN_OR_RETURN(limits.windows, ParseWindows(request));
  if (request.has_drain_timeout()) {
    ASSIGN_OR_RETURN(limits.drain_timeout, NotNegative("drain_timeout", request.drain_timeout()));
  }
  limits.passes_over = request.on_timeout() == v1::DRAIN_TIMEOUT_ACTION_SKIP;
  limits.requeues = request.on_timeout() == v1::DRAIN_TIMEOUT_ACTION_REQUEUE;
  return limits;
}

}  // namespace muster::controller::rollout
