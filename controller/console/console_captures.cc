#include "controller/console/console_captures.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/inventory/inventory.h"
#include "controller/power/bmc_password.h"

namespace muster::controller::console {
namespace {

constexpr size_t kMostAtOnce = 64 << 10;  // bytes of a console in a step
// What a BMC is not told stays in use for it until it notices by itself, after a minute or so.
constexpr absl::Duration kGoodbye = absl::Milliseconds(500);

}  // namespace

ConsoleCaptures::ConsoleCaptures(Means means)
    : means_(std::move(means)), worker_(means_.clock, [this] { return Step(); }) {}

void ConsoleCaptures::Stop() {
  worker_.Stop();
  if (lines_.empty()) return;
  lines_.clear();
  means_.clock.Sleep(kGoodbye);
}

absl::StatusOr<BmcAccess> ConsoleCaptures::AccessOf(const std::string& node) const {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Inventory> inventory, means_.inventory());
  const Node* const found = inventory == nullptr ? nullptr : inventory->FindNode(node);
  if (found == nullptr)
    return absl::NotFoundError(absl::StrCat("node ", node, " is not in the inventory"));
  ASSIGN_OR_RETURN(BmcAccess access, BmcAccessOf(*inventory, *found));
  if (access.has_console) return access;
  return absl::FailedPreconditionError(
      absl::StrCat("the inventory does not have the console of ", node,
                   " read: set the variable bmc_console to true, where bmc_protocol is ipmi; see "
                   "docs/power.md"));
}

ConsoleCaptures::Capture& ConsoleCaptures::Touch(const std::string& node, absl::Time now) {
  Capture& capture = captures_[node];
  capture.last_used = now;
  while (captures_.size() > kMostKept) {
    auto oldest = captures_.end();
    for (auto each = captures_.begin(); each != captures_.end(); ++each) {
      if (&each->second == &capture || each->second.is_read) continue;
      if (oldest == captures_.end() || each->second.last_used < oldest->second.last_used)
        oldest = each;
    }
    if (oldest == captures_.end()) break;
    captures_.erase(oldest);
  }
  return capture;
}

void ConsoleCaptures::BeginBoot(Capture& capture, absl::Time now) {
  capture.until = now + kOfBoot;
  capture.is_boot = true;
  capture.was_away = false;
  if (!capture.is_read) capture.next_try = now;
}

void ConsoleCaptures::OnBoot(const std::string& node) {
  if (!AccessOf(node).ok()) return;
  const absl::Time now = means_.clock.Now();
  {
    absl::MutexLock lock(&mutex_);
    BeginBoot(Touch(node, now), now);
  }
  worker_.Wake();
}

void ConsoleCaptures::OnBootSeen(const std::string& node) {
  if (!AccessOf(node).ok() || means_.is_connected(node)) return;
  const absl::Time now = means_.clock.Now();
  {
    absl::MutexLock lock(&mutex_);
    Capture& capture = Touch(node, now);
    if (capture.is_boot && capture.until > now) return;
    BeginBoot(capture, now);
  }
  worker_.Wake();
}

absl::StatusOr<ConsoleView> ConsoleCaptures::Read(const std::string& node, uint64_t after,
                                                  size_t most, bool follows) {
  RETURN_IF_ERROR(AccessOf(node).status());
  const absl::Time now = means_.clock.Now();
  ConsoleView view;
  {
    absl::MutexLock lock(&mutex_);
    if (follows) {
      Capture& capture = Touch(node, now);
      // A new reader is worth another try; one who has been asking all the time is not.
      if (now - capture.last_followed > kOfReader && !capture.is_read) capture.next_try = now;
      capture.last_followed = now;
      capture.until = std::max(capture.until, now + kOfReader);
    }
    const auto found = captures_.find(node);
    if (found == captures_.end()) return view;
    const Capture& capture = found->second;
    view.rows = capture.text.After(after, most);
    view.is_read = capture.is_read;
    view.is_established = capture.is_established;
    view.trouble = capture.is_waiting && capture.until > now
                       ? absl::StrCat(kMostOpen, " other consoles are being read; it waits")
                       : capture.trouble;
  }
  if (follows) worker_.Wake();
  return view;
}

absl::StatusOr<std::unique_ptr<ConsoleLine>> ConsoleCaptures::Open(const std::string& node) const {
  ASSIGN_OR_RETURN(const BmcAccess access, AccessOf(node));
  ASSIGN_OR_RETURN(SecretBuffer password, power::ReadBmcPassword(means_.secrets, access));
  return means_.open(access, std::move(password));
}

bool ConsoleCaptures::OpenNext(absl::Time now) {
  std::string next;
  size_t due = 0;
  {
    absl::MutexLock lock(&mutex_);
    absl::Time longest = absl::InfiniteFuture();
    for (auto& [node, capture] : captures_) {
      if (lines_.count(node) > 0) continue;
      const bool is_due = capture.until > now && capture.next_try <= now;
      capture.is_waiting = is_due && lines_.size() >= kMostOpen;
      if (!is_due || capture.is_waiting) {
        capture.is_read = false;
        capture.is_established = false;
        continue;
      }
      ++due;
      if (capture.next_try >= longest) continue;
      longest = capture.next_try;
      next = node;
    }
  }
  if (due == 0) return false;
  absl::StatusOr<std::unique_ptr<ConsoleLine>> line = Open(next);
  absl::MutexLock lock(&mutex_);
  const auto found = captures_.find(next);
  if (found == captures_.end()) return due > 1;
  Capture& capture = found->second;
  capture.trouble = line.ok() ? "" : std::string(line.status().message());
  capture.next_try = absl::IsUnavailable(line.status()) ? now + kRetry : absl::InfiniteFuture();
  capture.is_read = line.ok();
  capture.is_established = capture.is_established && line.ok();
  capture.last_heard = now;
  if (line.ok()) lines_[next] = *std::move(line);
  return due > 1;
}

void ConsoleCaptures::ReadAll(absl::Time now) {
  for (auto each = lines_.begin(); each != lines_.end();) {
    ConsoleLine& line = *each->second;
    std::string bytes;
    const absl::Status read = line.Read(kMostAtOnce, &bytes);
    absl::MutexLock lock(&mutex_);
    Capture& capture = captures_[each->first];
    capture.text.Append(bytes, now);
    capture.is_established = read.ok() && (capture.is_established || line.is_established());
    if (!bytes.empty()) capture.last_heard = now;
    if (!read.ok()) {
      capture.trouble = std::string(read.message());
      // BMCs lock accounts after some wrong passwords, and what they refuse they refuse again.
      if (absl::IsUnavailable(read)) capture.next_try = now + kRetry;
    }
    capture.is_read = read.ok() && capture.until > now;
    if (!capture.is_read) {
      capture.is_established = false;
      capture.text.Settle(absl::InfiniteFuture());
    }
    const bool is_silent = line.is_established() && now - capture.last_heard >= kSilence;
    if (capture.is_read && is_silent) capture.next_try = now;
    each = capture.is_read && !is_silent ? std::next(each) : lines_.erase(each);
  }
}

void ConsoleCaptures::LookWhoIsBack(absl::Time now) {
  if (now < next_look_) return;
  next_look_ = now + kLook;
  std::vector<std::string> booting;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [node, capture] : captures_) {
      if (capture.is_boot && capture.until > now) booting.push_back(node);
    }
  }
  for (const std::string& node : booting) {
    const bool is_connected = means_.is_connected(node);
    absl::MutexLock lock(&mutex_);
    const auto found = captures_.find(node);
    if (found == captures_.end()) continue;
    Capture& capture = found->second;
    if (!is_connected) {
      capture.was_away = true;
    } else if (capture.was_away) {
      capture.is_boot = false;
      capture.until = std::min(capture.until, now + kOfReturn);
    }
  }
}

absl::Time ConsoleCaptures::Step() {
  const absl::Time now = means_.clock.Now();
  {
    absl::MutexLock lock(&mutex_);
    const bool is_idle = std::none_of(captures_.begin(), captures_.end(), [now](const auto& each) {
      return each.second.is_read || each.second.until > now;
    });
    if (is_idle) return absl::InfiniteFuture();
    for (auto& [node, capture] : captures_) capture.text.Settle(now);
  }
  const bool are_others_due = OpenNext(now);
  LookWhoIsBack(now);
  ReadAll(now);
  return are_others_due ? now : now + kInterval;
}

}  // namespace muster::controller::console
