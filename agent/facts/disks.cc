// Block devices with storage of their own.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

// sysfs counts sizes in 512-byte sectors, whatever the device's own (Documentation/ABI/stable/
// sysfs-block).
constexpr int64_t kSectorBytes = 512;

bool IsVirtual(absl::string_view name) {
  for (const char* prefix : {"loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"})
    if (absl::StartsWith(name, prefix)) return true;
  return false;
}

}  // namespace

absl::Status ProbeDisks(const ProbeContext& context, v1::Facts& facts) {
  const std::string block = context.root + "/sys/block";
  for (const std::string& name : ListNames(block)) {
    if (IsVirtual(name)) continue;
    const std::string device = absl::StrCat(block, "/", name);
    const int64_t sectors = ReadNumber(device + "/size").value_or(0);
    if (sectors <= 0) continue;  // an empty card reader
    v1::DiskFacts& disk = *facts.add_disks();
    disk.set_name(name);
    disk.set_size_bytes(static_cast<uint64_t>(sectors) * kSectorBytes);
    disk.set_model(ReadValue(device + "/device/model").value_or(""));
    disk.set_serial(ReadValue(device + "/device/serial").value_or(""));
    // NVMe's name for it, then that of SCSI, under which ATA disks are, too.
    std::optional<std::string> firmware = ReadValue(device + "/device/firmware_rev");
    if (!firmware.has_value()) firmware = ReadValue(device + "/device/rev");
    disk.set_firmware(firmware.value_or(""));
    disk.set_rotational(ReadNumber(device + "/queue/rotational").value_or(0) == 1);
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
