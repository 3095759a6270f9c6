#include "agent/disk/settler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/disk/disk_tools.h"
#include "agent/disk/esp.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent::disk {
namespace {

constexpr absl::Duration kLook = absl::Seconds(1);

std::string WordOf(const std::map<std::string, std::string>& words, const std::string& name) {
  const auto found = words.find(name);
  return found == words.end() ? std::string() : found->second;
}

}  // namespace

absl::Status Settler::WithEsp(const std::function<absl::Status()>& act) {
  RETURN_IF_ERROR(means_.files.MakeDirectory(Esp(), 0700));
  RETURN_IF_ERROR(means_.tools.Unmount(Esp()));
  RETURN_IF_ERROR(
      means_.tools.Mount(esp_device_, Esp(), "vfat", "umask=0077,quiet,errors=remount-ro"));
  const absl::Status done = act();
  const absl::Status unmounted = means_.tools.Unmount(Esp());
  return done.ok() ? unmounted : done;
}

absl::StatusOr<bool> Settler::IsGreeted() {
  ASSIGN_OR_RETURN(const auto stat, means_.files.Stat(means_.greeted));
  return stat.has_value();
}

absl::Status Settler::TellOfFailure(char running) {
  ASSIGN_OR_RETURN(const std::vector<BootEntry> entries, ReadEntries(Esp(), means_.files));
  const BootEntry* const failed = FallenBackFrom(entries, running);
  if (failed == nullptr) return absl::OkStatus();
  means_.say(absl::StrCat(failed->image, " did not come up in ", kTries,
                          " tries; the machine runs the image before it"));
  // Told first: an entry that is out of the way is not told of again.
  RETURN_IF_ERROR(means_.report(*failed, "fallen_back"));
  return RenameEntry(Esp(), failed->slot, FailedEntryName(failed->slot), means_.files);
}

absl::StatusOr<Settler::End> Settler::Settle(const std::map<std::string, std::string>& words) {
  const std::string slot = WordOf(words, "muster.slot");
  esp_device_ = WordOf(words, "muster.esp");
  if (slot.size() != 1 || !absl::StartsWith(esp_device_, "/dev/")) return End::kNotFromDisk;
  const char running = slot[0];

  std::vector<BootEntry> entries;
  RETURN_IF_ERROR(WithEsp([&]() -> absl::Status {
    ASSIGN_OR_RETURN(entries, ReadEntries(Esp(), means_.files));
    return absl::OkStatus();
  }));
  const auto mine = std::find_if(entries.begin(), entries.end(),
                                 [running](const BootEntry& each) { return each.slot == running; });
  if (mine == entries.end())
    return absl::NotFoundError(
        absl::StrCat("the boot loader has no entry of the running root ", slot));
  const bool is_on_trial = mine->tries_left.has_value();
  absl::Duration patience =
      is_on_trial && HasWayBack(entries, running) ? kSettlePatience : absl::InfiniteDuration();
  while (true) {
    ASSIGN_OR_RETURN(const bool is_greeted, IsGreeted());
    if (is_greeted) break;
    if (patience <= absl::ZeroDuration()) {
      means_.say(absl::StrCat(mine->image, " did not reach the controller within ",
                              absl::FormatDuration(kSettlePatience), "; rebooting"));
      return End::kGoBack;
    }
    // What is slept counts: the time of day is set in these minutes.
    means_.clock.Sleep(kLook);
    patience -= kLook;
  }
  // Also of a root that stays already: an earlier call may have been cut off in the middle.
  RETURN_IF_ERROR(WithEsp([&] {
    return RenameEntry(Esp(), running, BootEntryName(running, std::nullopt), means_.files);
  }));
  if (is_on_trial) {
    means_.say(absl::StrCat(mine->image, " has come up and stays"));
    // That it stays does not depend on who hears of it.
    const absl::Status told = means_.report(*mine, "healthy");
    if (!told.ok()) means_.say(told.message());
  }
  const absl::Status told = WithEsp([&] { return TellOfFailure(running); });
  if (!told.ok()) means_.say(told.message());
  return End::kGood;
}

}  // namespace muster::agent::disk
