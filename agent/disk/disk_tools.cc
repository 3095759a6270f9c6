#include "agent/disk/disk_tools.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/process/process.h"

namespace muster::agent::disk {
namespace {

// Large disks are first discarded as a whole, or read as a whole.
constexpr absl::Duration kFormatTimeout = absl::Hours(2);
constexpr absl::Duration kTimeout = absl::Minutes(5);
// The lowest exit status of e2fsck that does not mean that all is well by now.
constexpr int kFaultsLeft = 4;

struct Maker {
  const char* file_system;
  std::vector<std::string> argv;
  const char* label_option;
  bool is_upper;  // FAT has labels in capitals
};
const std::vector<Maker>& Makers() {
  static const auto& all = *new std::vector<Maker>{
      {"vfat", {"mkfs.fat", "-F", "32"}, "-n", true},
      {"ext4", {"mkfs.ext4", "-q", "-F"}, "-L", false},
      {"xfs", {"mkfs.xfs", "-q", "-f"}, "-L", false},
  };
  return all;
}

}  // namespace

absl::StatusOr<std::vector<DiskDevice>> DiskPrograms::List() {
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   sys::RunChecked(processes_, {.argv = {"lsblk", "--json", "--bytes", "--nodeps",
                                                         "--output", "PATH,TYPE,SIZE,RO,RM,SERIAL"},
                                                .timeout = kTimeout,
                                                .max_output = size_t{1} << 20}));
  return ReadDiskDevices(result.out);
}

absl::StatusOr<PartitionTable> DiskPrograms::ReadTable(const std::string& disk) {
  ASSIGN_OR_RETURN(const sys::ProcessResult result,
                   sys::RunChecked(processes_, {.argv = {"sfdisk", "--json", disk},
                                                .timeout = kTimeout,
                                                .max_output = size_t{1} << 20}));
  return ReadPartitionTable(result.out);
}

absl::Status DiskPrograms::Divide(const std::string& disk, const std::string& script) {
  RETURN_IF_ERROR(sys::RunChecked(processes_, {.argv = {"sfdisk", "--wipe", "always",
                                                        "--wipe-partitions", "always", disk},
                                               .input = script,
                                               .timeout = kTimeout})
                      .status());
  return sys::RunChecked(processes_, {.argv = {"udevadm", "settle"}, .timeout = kTimeout}).status();
}

absl::Status DiskPrograms::SetTableId(const std::string& disk, const std::string& id) {
  // Partitions are mounted by now, and none of them changes.
  return sys::RunChecked(processes_, {.argv = {"sfdisk", "--no-reread", "--force", "--disk-id",
                                               disk, absl::AsciiStrToUpper(id)},
                                      .timeout = kTimeout})
      .status();
}

absl::Status DiskPrograms::Format(const std::string& partition, const std::string& file_system,
                                  const std::string& label) {
  const auto maker = std::find_if(Makers().begin(), Makers().end(), [&](const Maker& each) {
    return each.file_system == file_system;
  });
  if (maker == Makers().end())
    return absl::InvalidArgumentError(absl::StrCat("no program makes ", file_system));
  std::vector<std::string> argv = maker->argv;
  argv.insert(argv.end(), {maker->label_option,
                           maker->is_upper ? absl::AsciiStrToUpper(label) : label, partition});
  return sys::RunChecked(processes_, {.argv = argv, .timeout = kFormatTimeout}).status();
}

absl::Status DiskPrograms::Mend(const std::string& partition) {
  const sys::ProcessSpec check = {.argv = {"e2fsck", "-p", partition}, .timeout = kFormatTimeout};
  ASSIGN_OR_RETURN(const sys::ProcessResult result, processes_.Run(check));
  const bool has_ended = result.signal == 0 && !result.timed_out;
  if (has_ended && result.exit_code < kFaultsLeft) return absl::OkStatus();
  return sys::CheckSuccess(check, result);
}

absl::Status DiskPrograms::Mount(const std::string& source, const std::string& target,
                                 const std::string& file_system, const std::string& options) {
  return sys::RunChecked(processes_, {.argv = {"mount", "--types", file_system, "--options",
                                               options, source, target},
                                      .timeout = kTimeout})
      .status();
}

absl::Status DiskPrograms::Unmount(const std::string& target) {
  ASSIGN_OR_RETURN(
      const sys::ProcessResult mounted,
      processes_.Run({.argv = {"mountpoint", "--quiet", target}, .timeout = kTimeout}));
  if (!mounted.ok()) return absl::OkStatus();
  return sys::RunChecked(processes_, {.argv = {"umount", target}, .timeout = kTimeout}).status();
}

}  // namespace muster::agent::disk
