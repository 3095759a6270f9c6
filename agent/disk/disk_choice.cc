#include "agent/disk/disk_choice.h"

#include <algorithm>
#include <functional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/status.h"
#include "common/base/text/disk_name.h"
#include "common/base/text/plain_text.h"

namespace muster::agent::disk {
namespace {

constexpr size_t kMaxShown = 100;

enum class Content { kNothing, kUnfinished, kOurs, kForeign };

Content ContentOf(const FoundDisk& disk) {
  if (!disk.unreadable.empty()) return Content::kForeign;
  if (disk.table.has_value() && disk.table->id == kUnfinishedTable) return Content::kUnfinished;
  if (disk.table.has_value() && IsMusterTable(*disk.table)) return Content::kOurs;
  return disk.signatures.empty() && disk.user.empty() ? Content::kNothing : Content::kForeign;
}

std::string DescribeContent(const FoundDisk& disk) {
  if (!disk.unreadable.empty()) return absl::StrCat("cannot be read: ", disk.unreadable);
  switch (ContentOf(disk)) {
    case Content::kNothing:
      return "holds nothing";
    case Content::kUnfinished:
      return "holds the beginning of an image";
    case Content::kOurs:
      return "holds an image";
    case Content::kForeign:
      break;
  }
  if (disk.signatures.empty()) return disk.user;
  return absl::StrCat("holds ",
                      absl::StrJoin(disk.signatures, " and ",
                                    [](std::string* out, const DeviceSignature& signature) {
                                      absl::StrAppend(out, DescribeSignature(signature));
                                    }));
}

// "/dev/sda (10240 MiB, serial X) holds nothing".
std::string DescribeDisk(const FoundDisk& disk) {
  const std::string serial =
      disk.device.serial.empty() ? "no serial number" : absl::StrCat("serial ", disk.device.serial);
  return PlainText(absl::StrCat(disk.device.path, " (", disk.device.bytes / kMib, " MiB, ", serial,
                                ") ", DescribeContent(disk)),
                   Lines::kOne, 2 * kMaxShown);
}

std::string DescribeDisks(const std::vector<FoundDisk>& disks) {
  if (disks.empty()) return "the machine has no disk, or no driver for it";
  return absl::StrJoin(disks, "; ", [](std::string* out, const FoundDisk& disk) {
    absl::StrAppend(out, DescribeDisk(disk));
  });
}

std::vector<const FoundDisk*> Those(const std::vector<FoundDisk>& disks,
                                    const std::function<bool(const FoundDisk&)>& has) {
  std::vector<const FoundDisk*> found;
  for (const FoundDisk& disk : disks) {
    if (has(disk)) found.push_back(&disk);
  }
  return found;
}

bool IsNamed(const FoundDisk& disk, absl::string_view name) {
  if (absl::ConsumePrefix(&name, kDiskBySerial)) return disk.device.serial == name;
  if (!absl::ConsumePrefix(&name, kDiskByUuid)) return false;
  return std::any_of(disk.signatures.begin(), disk.signatures.end(),
                     [name](const DeviceSignature& signature) {
                       return absl::EqualsIgnoreCase(signature.uuid, name);
                     });
}

absl::StatusOr<DiskChoice> Take(const FoundDisk& disk, const DiskWish& wish) {
  const DiskChoice choice = {&disk, ContentOf(disk) != Content::kOurs};
  if (choice.divide && disk.device.bytes < wish.bytes_of_layout)
    return absl::FailedPreconditionError(
        absl::StrCat(disk.device.path, " has ", disk.device.bytes / kMib, " MiB, but the image's ",
                     "partitions take ", wish.bytes_of_layout / kMib,
                     "; make them smaller in the image's section 'disk'"));
  return choice;
}

}  // namespace

absl::StatusOr<DiskChoice> ChooseDisk(const std::vector<FoundDisk>& disks, const DiskWish& wish) {
  const auto ours = Those(disks, [](const FoundDisk& disk) {
    return ContentOf(disk) == Content::kOurs || ContentOf(disk) == Content::kUnfinished;
  });
  if (wish.device != kBlankDisk) {
    const auto named =
        Those(disks, [&](const FoundDisk& disk) { return IsNamed(disk, wish.device); });
    // The uuid of what was there before is gone once the disk is divided.
    if (named.empty() && ours.size() == 1 && absl::StartsWith(wish.device, kDiskByUuid))
      return Take(*ours[0], wish);
    if (named.size() != 1)
      return absl::FailedPreconditionError(
          absl::StrCat(named.empty() ? "no disk has " : "several disks have ", wish.device, ": ",
                       DescribeDisks(disks)));
    const FoundDisk& disk = *named[0];
    if (ContentOf(disk) != Content::kForeign) return Take(disk, wish);
    if (!disk.unreadable.empty() || !disk.user.empty() || !wish.is_of_inventory)
      return absl::FailedPreconditionError(absl::StrCat(
          DescribeDisk(disk), ", and is not written",
          wish.is_of_inventory
              ? ""
              : "; if that may be lost, name the disk in the node's variable boot_disk"));
    return Take(disk, wish);
  }
  if (ours.size() == 1) return Take(*ours[0], wish);
  const auto blank =
      Those(disks, [](const FoundDisk& disk) { return ContentOf(disk) == Content::kNothing; });
  if (ours.empty() && blank.size() == 1) return Take(*blank[0], wish);
  return absl::FailedPreconditionError(absl::StrCat(
      ours.size() > 1    ? "several disks hold an image"
      : blank.size() > 1 ? "several disks hold nothing"
                         : "no disk holds nothing",
      "; name the disk that is meant in the node's variable boot_disk: ", DescribeDisks(disks)));
}

}  // namespace muster::agent::disk
