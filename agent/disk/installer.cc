#include "agent/disk/installer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/disk/disk_choice.h"
#include "agent/disk/esp.h"
#include "agent/disk/root_copy.h"
#include "agent/sys/block_devices.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/base/text/join_word.h"
#include "common/sys/atomic_write.h"
#include "common/sys/file_system.h"
#include "common/value/disk_layout.h"
#include "common/value/image_manifest.h"

namespace muster::agent::disk {
namespace {

constexpr char kLoader[] = "/usr/lib/systemd/boot/efi/systemd-bootx64.efi";
// Where every firmware looks on a disk of which it knows nothing else.
constexpr char kLoaderOnDisk[] = "/EFI/BOOT/BOOTX64.EFI";
constexpr char kLoaderSettings[] = "timeout 0\neditor no\n";
// A panic of the kernel or the initramfs is a try that failed.
constexpr char kPanic[] = "panic=30";
constexpr char kBoot[] = "boot=muster";
constexpr size_t kLargestImageText = size_t{1} << 20;

// Where the initramfs of a signed kernel image finds what is this machine's alone.
constexpr char kWordsInState[] = "/words";

// What a root hands on to the next one: by these the network knows the machine.
constexpr char kMachineId[] = "/etc/machine-id";
constexpr char kSshFolder[] = "/etc/ssh";
constexpr absl::string_view kSshKeys = "ssh_host_";
// Whoever was root there makes no program of them.
constexpr unsigned kHandedOnMode = 0644;

std::string ByUuid(const Partition& partition) {
  return absl::StrCat("/dev/disk/by-partuuid/", partition.uuid);
}

std::string RootPartition(char slot) { return slot == 'a' ? kRootAPartition : kRootBPartition; }

std::string RootState(const std::string& state, char slot) {
  return absl::StrCat(state, "/root-", std::string(1, slot));
}

absl::StatusOr<FoundDisk> Look(const DiskDevice& device, DiskTools& tools, BlockDevices& devices) {
  FoundDisk disk;
  disk.device = device;
  const absl::StatusOr<std::vector<DeviceSignature>> signatures = devices.Probe(device.path);
  const absl::StatusOr<std::string> user = devices.User(device.path);
  if (!signatures.ok() || !user.ok()) {
    disk.unreadable =
        std::string((signatures.ok() ? user.status() : signatures.status()).message());
    return disk;
  }
  disk.signatures = *signatures;
  disk.user = *user;
  const bool has_table =
      std::any_of(disk.signatures.begin(), disk.signatures.end(),
                  [](const DeviceSignature& signature) { return signature.type == "gpt"; });
  if (!has_table) return disk;
  const absl::StatusOr<PartitionTable> table = tools.ReadTable(device.path);
  // A table that cannot be read is somebody's.
  if (table.ok()) disk.table = *table;
  return disk;
}

// The only file in `folder` whose name begins so.
absl::StatusOr<std::string> OnlyFile(const std::string& folder, const std::string& beginning,
                                     sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  std::string found;
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, beginning)) continue;
    if (!found.empty())
      return absl::InvalidArgumentError(
          absl::StrCat("the image has several files /boot/", beginning, "*"));
    found = absl::StrCat(folder, "/", name);
  }
  if (!found.empty()) return found;
  return absl::InvalidArgumentError(absl::StrCat("the image has no file /boot/", beginning, "*"));
}

}  // namespace

absl::StatusOr<Installed> Installer::Install(const InstallOrder& order) {
  // What an earlier call has left.
  RETURN_IF_ERROR(UnmountAll());
  absl::StatusOr<Installed> installed = WriteDisk(order);
  const absl::Status unmounted = UnmountAll();
  RETURN_IF_ERROR(installed.status());
  RETURN_IF_ERROR(unmounted);
  return installed;
}

absl::Status Installer::UnmountAll() {
  absl::Status first;
  for (const std::string& folder : {Esp(), State(), Image()}) {
    RETURN_IF_ERROR(means_.files.MakeDirectory(folder, 0700));
    first.Update(means_.tools.Unmount(folder));
  }
  return first;
}

absl::StatusOr<Installed> Installer::WriteDisk(const InstallOrder& order) {
  ASSIGN_OR_RETURN(const v1::ImageManifest image, ReadImage(order));
  Installed installed;
  ASSIGN_OR_RETURN(const PartitionTable table, PrepareDisk(order, image, installed));
  RETURN_IF_ERROR(means_.tools.Mount(table.Find(kEspPartition)->device, Esp(), "vfat",
                                     "umask=0077,quiet,errors=remount-ro"));
  const std::string state = table.Find(kStatePartition)->device;
  // Where faults are left, the image is written all the same, if the kernel still lets it be.
  const absl::Status mended = means_.tools.Mend(state);
  if (!mended.ok()) means_.say(mended.message());
  RETURN_IF_ERROR(means_.tools.Mount(state, State(), "ext4", "errors=remount-ro"));
  ASSIGN_OR_RETURN(const BootEntry entry, WriteRoot(order, image, table));
  installed.slot = entry.slot;
  // From here on the disk is what it says that it is; the entry still is all that boots it.
  if (table.id == kUnfinishedTable)
    RETURN_IF_ERROR(means_.tools.SetTableId(installed.disk, NewUuid()));
  const std::string path =
      absl::StrCat(EntryFolder(Esp()), "/", BootEntryName(entry.slot, entry.tries_left));
  RETURN_IF_ERROR(means_.files.MakeDirectory(EntryFolder(Esp()), 0700));
  RETURN_IF_ERROR(
      means_.files.WriteAtomically(path, RenderBootEntry(entry, options_), {.mode = 0600}));
  means_.say(absl::StrCat(order.image, " is on ", installed.disk, ", in root ",
                          std::string(1, entry.slot)));
  return installed;
}

absl::StatusOr<v1::ImageManifest> Installer::ReadImage(const InstallOrder& order) {
  RETURN_IF_ERROR(means_.tools.Mount(order.root_file, Image(), "squashfs", "ro,loop"));
  const absl::StatusOr<std::string> bytes =
      means_.files.Read(Image() + kImageInRoot, kLargestImageText);
  v1::ImageManifest image;
  if (!bytes.ok() || !image.ParseFromString(*bytes) || !image.has_disk())
    return absl::InvalidArgumentError(
        absl::StrCat(order.image, " is not an image for disks: its root has no ", kImageInRoot));
  RETURN_IF_ERROR(CheckDiskLayout(image.disk()));
  return image;
}

absl::StatusOr<PartitionTable> Installer::PrepareDisk(const InstallOrder& order,
                                                      const v1::ImageManifest& image,
                                                      Installed& installed) {
  ASSIGN_OR_RETURN(const std::vector<DiskDevice> devices, means_.tools.List());
  std::vector<FoundDisk> disks;
  for (const DiskDevice& device : devices) {
    ASSIGN_OR_RETURN(FoundDisk disk, Look(device, means_.tools, means_.devices));
    disks.push_back(std::move(disk));
  }
  const DiskWish wish = {.device = order.device.empty() ? image.disk().device() : order.device,
                         .is_of_inventory = !order.device.empty(),
                         .bytes_of_layout = BytesOfLayout(image.disk())};
  ASSIGN_OR_RETURN(const DiskChoice choice, ChooseDisk(disks, wish));
  installed.disk = choice.disk->device.path;
  installed.was_divided = choice.divide;
  if (choice.divide) RETURN_IF_ERROR(DivideDisk(installed.disk, image.disk()));
  ASSIGN_OR_RETURN(PartitionTable table, means_.tools.ReadTable(installed.disk));
  if (IsMusterTable(table)) return table;
  return absl::DataLossError(
      absl::StrCat(installed.disk, " does not have the partitions that were made on it"));
}

absl::Status Installer::DivideDisk(const std::string& disk, const v1::DiskLayout& layout) {
  means_.say(absl::StrCat("dividing ", disk));
  RETURN_IF_ERROR(means_.tools.Divide(disk, DivisionScript(layout)));
  ASSIGN_OR_RETURN(const PartitionTable table, means_.tools.ReadTable(disk));
  const auto format = [&](const std::string& name, const std::string& file_system,
                          const std::string& label) -> absl::Status {
    const Partition* const partition = table.Find(name);
    if (partition == nullptr)
      return absl::DataLossError(absl::StrCat(disk, " has no partition ", name));
    return means_.tools.Format(partition->device, file_system, label);
  };
  RETURN_IF_ERROR(format(kEspPartition, "vfat", kEspPartition));
  RETURN_IF_ERROR(format(kStatePartition, "ext4", kStatePartition));
  for (const v1::DiskPartition& each : layout.partitions())
    RETURN_IF_ERROR(
        format(absl::StrCat(kPartitionPrefix, each.name()), each.file_system(), each.name()));
  return absl::OkStatus();
}

absl::StatusOr<BootEntry> Installer::WriteRoot(const InstallOrder& order,
                                               const v1::ImageManifest& image,
                                               const PartitionTable& table) {
  ASSIGN_OR_RETURN(const std::vector<BootEntry> entries, ReadEntries(Esp(), means_.files));
  BootEntry entry;
  entry.slot = SlotToWrite(entries);
  entry.tries_left = kTries;
  entry.generation = NextGeneration(entries);
  entry.image = order.image;
  entry.is_signed = order.IsSigned();
  const Partition& root = *table.Find(RootPartition(entry.slot));
  ASSIGN_OR_RETURN(const auto file, means_.files.Stat(order.root_file));
  if (!file.has_value()) return absl::NotFoundError(absl::StrCat("no file ", order.root_file));
  if (file->size > root.bytes)
    return absl::FailedPreconditionError(
        absl::StrCat("the root of ", order.image, " has ", file->size >> 20, " MiB, but ",
                     root.device, " has only ", root.bytes >> 20,
                     "; it was divided by an earlier image. Make the image "
                     "smaller, or have the disk divided anew (docs/images.md)"));
  means_.say(absl::StrCat("writing ", order.image, " to ", root.device));
  RETURN_IF_ERROR(RemoveEntries(Esp(), entry.slot, "", means_.files));
  ASSIGN_OR_RETURN(const uint64_t bytes, CopyRoot({.from = order.root_file,
                                                   .to = root.device,
                                                   .sha256 = order.sha256,
                                                   .on_piece = means_.on_piece}));
  RETURN_IF_ERROR(WriteBootFiles(order, entry.slot));
  RETURN_IF_ERROR(PrepareState(order, entry.slot));

  options_ = {absl::StrCat("muster.image=", order.image)};
  if (!order.report.empty()) options_.push_back(absl::StrCat("muster.report=", order.report));
  if (order.IsSigned()) return entry;
  options_.insert(options_.begin(), {kBoot, kPanic});
  for (const std::string& argument : image.kernel_arguments()) {
    if (argument != kBoot) options_.push_back(argument);
  }
  const std::pair<const char*, std::string> words[] = {
      {"muster.slot", std::string(1, entry.slot)},
      {"muster.root", ByUuid(root)},
      {"muster.sha256", order.sha256},
      {"muster.size", absl::StrCat(bytes)},
      {"muster.state", ByUuid(*table.Find(kStatePartition))},
      {"muster.esp", ByUuid(*table.Find(kEspPartition))}};
  for (const auto& [name, value] : words) options_.push_back(absl::StrCat(name, "=", value));
  if (!order.join.empty()) options_.push_back(absl::StrCat(kJoinWord, "=", order.join));
  return entry;
}

absl::Status Installer::WriteBootFiles(const InstallOrder& order, char slot) {
  const std::string folder = absl::StrCat(Esp(), "/muster/", std::string(1, slot));
  std::vector<std::pair<std::string, std::string>> copies;
  if (order.IsSigned()) {
    copies = {{order.signed_kernel, absl::StrCat(folder, "/", kSignedArtifact)},
              {order.signed_loader, Esp() + kLoaderOnDisk}};
  } else {
    ASSIGN_OR_RETURN(const std::string kernel,
                     OnlyFile(Image() + "/boot", "vmlinuz-", means_.files));
    ASSIGN_OR_RETURN(const std::string initrd,
                     OnlyFile(Image() + "/boot", "initrd.img-", means_.files));
    copies = {{kernel, folder + "/kernel"},
              {initrd, folder + "/initrd"},
              {Image() + kLoader, Esp() + kLoaderOnDisk}};
  }
  // The old ones make room first: a root without an entry does not boot.
  RETURN_IF_ERROR(means_.files.Remove(folder, /*recursive=*/true));
  RETURN_IF_ERROR(means_.files.MakeDirectory(folder, 0700));
  RETURN_IF_ERROR(means_.files.MakeDirectory(Esp() + "/EFI/BOOT", 0700));
  for (const auto& [from, to] : copies)
    RETURN_IF_ERROR(sys::PlaceFile(from, to, {.mode = 0600}, /*may_move=*/false));
  RETURN_IF_ERROR(means_.files.MakeDirectory(Esp() + "/loader", 0700));
  return means_.files.WriteAtomically(Esp() + "/loader/loader.conf", kLoaderSettings,
                                      {.mode = 0600});
}

absl::Status Installer::PrepareState(const InstallOrder& order, char slot) {
  const std::string own = RootState(State(), slot);
  const std::string other = RootState(State(), OtherSlot(slot)) + "/upper";
  RETURN_IF_ERROR(means_.files.Remove(own, /*recursive=*/true));
  RETURN_IF_ERROR(means_.files.MakeDirectory(State() + "/muster", 0700));
  for (const char* folder : {"/upper/etc/ssh", "/work"})
    RETURN_IF_ERROR(means_.files.MakeDirectory(own + folder, 0755));
  if (order.IsSigned() && !order.node.empty())
    RETURN_IF_ERROR(means_.files.WriteAtomically(
        own + kWordsInState, absl::StrCat(kNodeWord, "=", order.node, "\n"), {.mode = 0600}));
  const auto hand_on = [&](const std::string& path) -> absl::Status {
    ASSIGN_OR_RETURN(const auto view, means_.files.View(other + path));
    if (!view.has_value() || view->stat.type != sys::FileType::kRegular) return absl::OkStatus();
    return means_.files.WriteAtomically(absl::StrCat(own, "/upper", path), view->content,
                                        {.mode = view->stat.mode & kHandedOnMode});
  };
  RETURN_IF_ERROR(hand_on(kMachineId));
  ASSIGN_OR_RETURN(const auto keys, means_.files.Stat(other + kSshFolder));
  if (!keys.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, means_.files.List(other + kSshFolder));
  for (const std::string& name : names) {
    if (absl::StartsWith(name, kSshKeys))
      RETURN_IF_ERROR(hand_on(absl::StrCat(kSshFolder, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent::disk
