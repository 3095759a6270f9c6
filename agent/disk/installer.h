// Writes an image of the kind `disk` to a disk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/disk/boot_entries.h"
#include "agent/disk/disk_tools.h"
#include "muster/v1/image.pb.h"

namespace muster::sys {
class FileSystem;
}
namespace muster::agent {
class BlockDevices;
}

namespace muster::agent::disk {

struct InstallOrder {
  std::string root_file;  // root.squashfs
  std::string sha256;     // that it has to have
  std::string image;      // "debian-worker-disk@1a2b3c4d5e6f"
  std::string report;     // URL that is told what becomes of it; "": nobody is
  std::string join;       // the value of kJoinWord, which the disk keeps; "": none
  std::string device;     // of the inventory, see CheckDiskName(); "": as the image says
  // Files with what firmware with Secure Boot starts. "": the root has loader, kernel and
  // initramfs.
  std::string signed_loader = {};
  std::string signed_kernel = {};
  // The name under which a machine joins that boots them; "": it does not join by itself.
  std::string node = {};

  bool IsSigned() const { return !signed_kernel.empty(); }
};

struct Installed {
  std::string disk;  // "/dev/sda"
  char slot = 'a';
  bool was_divided = false;
};

// The order of what is done is what keeps a machine from booting half an image: entries of the root
// are removed before anything of it changes and come back last, and a new disk says that it holds
// nothing whole until then. A call that was cut off at any point is repeated from the beginning.
// Not thread-safe.
class Installer {
 public:
  struct Means {
    sys::FileSystem& files;
    DiskTools& tools;
    BlockDevices& devices;
    // A folder of root's for mounts.
    std::string work = "/run/muster-disk";
    // Hears what is happening, a line at a time.
    std::function<void(absl::string_view line)> say;
    // After each piece of the root.
    std::function<void(uint64_t done, uint64_t total)> on_piece = {};
  };

  // What `means` refers to must outlive the object.
  explicit Installer(Means means) : means_(std::move(means)) {}

  // FailedPrecondition: there is no disk that may be written, or no room. DataLoss: see CopyRoot().
  // InvalidArgument: the root is not one of an image of the kind `disk`.
  absl::StatusOr<Installed> Install(const InstallOrder& order);

 private:
  absl::StatusOr<Installed> WriteDisk(const InstallOrder& order);
  absl::StatusOr<v1::ImageManifest> ReadImage(const InstallOrder& order);
  absl::StatusOr<PartitionTable> PrepareDisk(const InstallOrder& order,
                                             const v1::ImageManifest& image, Installed& installed);
  absl::Status DivideDisk(const std::string& disk, const v1::DiskLayout& layout);
  absl::StatusOr<BootEntry> WriteRoot(const InstallOrder& order, const v1::ImageManifest& image,
                                      const PartitionTable& table);
  absl::Status WriteBootFiles(const InstallOrder& order, char slot);
  absl::Status PrepareState(const InstallOrder& order, char slot);
  absl::Status UnmountAll();

  std::string Image() const { return means_.work + "/image"; }
  std::string Esp() const { return means_.work + "/esp"; }
  std::string State() const { return means_.work + "/state"; }

  const Means means_;
  std::vector<std::string> options_;  // of the entry that is being made
};

}  // namespace muster::agent::disk
