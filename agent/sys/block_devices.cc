#include "agent/sys/block_devices.h"

#include <blkid/blkid.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/mount_info.h"
#include "common/sys/unique_fd.h"

namespace muster::agent {
namespace {

constexpr char kPartitionTable[] = "partition table";
// libblkid takes a part that it cannot read for one without a signature.
constexpr size_t kReadToBelieve = size_t{1} << 20;

struct FreeProbe {
  void operator()(blkid_probe probe) const { blkid_free_probe(probe); }
};
using Probe = std::unique_ptr<std::remove_pointer_t<blkid_probe>, FreeProbe>;

std::string ValueOf(blkid_probe probe, const char* name) {
  const char* value = nullptr;
  if (blkid_probe_lookup_value(probe, name, &value, nullptr) != 0 || value == nullptr) return "";
  return value;
}

absl::Status ReadAll(int fd, const std::string& path, off_t offset, size_t bytes) {
  std::string buffer(bytes, '\0');
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(fd, buffer.data() + done, bytes - done, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
    if (got == 0) return absl::DataLossError(absl::StrCat(path, " ends before its size"));
    done += static_cast<size_t>(got);
  }
  return absl::OkStatus();
}

// Where signatures stand: the first and the last part.
absl::Status CheckReadable(int fd, const std::string& path, uint64_t size) {
  const size_t part = std::min<uint64_t>(size, kReadToBelieve);
  RETURN_IF_ERROR(ReadAll(fd, path, 0, part));
  return ReadAll(fd, path, static_cast<off_t>(size - part), part);
}

absl::StatusOr<sys::UniqueFd> Open(const std::string& path) {
  sys::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.valid()) return fd;
  if (errno == ENOENT) return absl::NotFoundError(absl::StrCat("no device ", path));
  return ErrnoStatus(errno, absl::StrCat("opening ", path));
}

absl::StatusOr<std::string> NumberOf(int fd, const std::string& path) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return ErrnoStatus(errno, path);
  if (!S_ISBLK(status.st_mode))
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a block device"));
  return absl::StrCat(major(status.st_rdev), ":", minor(status.st_rdev));
}

std::string ContentOf(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  return content.str();
}

// Devices that the kernel has made of this one: LVM, RAID, encryption.
std::vector<std::string> HoldersOf(const std::string& number) {
  std::vector<std::string> names;
  const std::string folder = absl::StrCat("/sys/dev/block/", number, "/holders");
  DIR* const list = ::opendir(folder.c_str());
  if (list == nullptr) return names;
  while (const dirent* const entry = ::readdir(list)) {
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  }
  ::closedir(list);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string DescribeSignature(const DeviceSignature& signature) {
  if (signature.usage == kPartitionTable)
    return absl::StrCat("a ", signature.type, " partition table");
  std::string text = signature.type;
  if (!signature.label.empty()) absl::StrAppend(&text, " '", signature.label, "'");
  if (!signature.uuid.empty()) absl::StrAppend(&text, " (uuid ", signature.uuid, ")");
  return text;
}

std::vector<std::string> MountPointsOf(const std::string& mountinfo, const std::string& device) {
  std::vector<std::string> points;
  for (MountInfo& mount : MountsOf(mountinfo)) {
    if (mount.device == device) points.push_back(std::move(mount.path));
  }
  return points;
}

absl::StatusOr<std::vector<DeviceSignature>> ReadSignatures(int fd, const std::string& path) {
  const Probe probe(blkid_new_probe());
  if (probe == nullptr) return absl::ResourceExhaustedError("libblkid has no memory");
  if (blkid_probe_set_device(probe.get(), fd, 0, 0) != 0)
    return ErrnoStatus(errno, absl::StrCat("probing ", path));
  const auto size = static_cast<uint64_t>(blkid_probe_get_size(probe.get()));
  if (size == 0) return absl::DataLossError(absl::StrCat(path, " has a size of 0"));
  RETURN_IF_ERROR(CheckReadable(fd, path, size));
  blkid_probe_enable_superblocks(probe.get(), 1);
  // Also those whose checksum is wrong: damaged data is data.
  blkid_probe_set_superblocks_flags(probe.get(), BLKID_SUBLKS_LABEL | BLKID_SUBLKS_UUID |
                                                     BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE |
                                                     BLKID_SUBLKS_BADCSUM);
  blkid_probe_enable_partitions(probe.get(), 1);
  blkid_probe_set_partitions_flags(probe.get(), BLKID_PARTS_FORCE_GPT);

  std::vector<DeviceSignature> found;
  while (true) {
    const int rc = blkid_do_probe(probe.get());
    if (rc == 1) return found;  // no more
    if (rc != 0) return absl::DataLossError(absl::StrCat("probing ", path, " failed"));
    DeviceSignature signature;
    signature.type = ValueOf(probe.get(), "PTTYPE");
    if (!signature.type.empty()) {
      signature.usage = kPartitionTable;
      signature.uuid = ValueOf(probe.get(), "PTUUID");
    } else {
      signature.type = ValueOf(probe.get(), "TYPE");
      signature.usage = ValueOf(probe.get(), "USAGE");
      signature.uuid = ValueOf(probe.get(), "UUID");
      signature.label = ValueOf(probe.get(), "LABEL");
    }
    const bool is_new = std::find(found.begin(), found.end(), signature) == found.end();
    if (is_new && !signature.type.empty()) found.push_back(std::move(signature));
  }
}

absl::StatusOr<std::vector<DeviceSignature>> BlkidBlockDevices::Probe(const std::string& path) {
  ASSIGN_OR_RETURN(const sys::UniqueFd fd, Open(path));
  RETURN_IF_ERROR(NumberOf(fd.get(), path).status());
  return ReadSignatures(fd.get(), path);
}

absl::StatusOr<std::string> BlkidBlockDevices::User(const std::string& path) {
  ASSIGN_OR_RETURN(const sys::UniqueFd fd, Open(path));
  ASSIGN_OR_RETURN(const std::string number, NumberOf(fd.get(), path));
  const auto mounts = MountPointsOf(ContentOf("/proc/self/mountinfo"), number);
  if (!mounts.empty()) return absl::StrCat("mounted on ", absl::StrJoin(mounts, ", "));
  const std::vector<std::string> holders = HoldersOf(number);
  if (!holders.empty()) return absl::StrCat("in use by ", absl::StrJoin(holders, ", "));
  // The kernel itself knows best: swap, a mount in another name space, a partition of the disk.
  const sys::UniqueFd alone(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_EXCL));
  if (alone.valid()) return std::string();
  if (errno == EBUSY) return std::string("in use by the kernel (swap, a partition or a mount)");
  return ErrnoStatus(errno, absl::StrCat("opening ", path));
}

absl::StatusOr<std::string> BlkidBlockDevices::Number(const std::string& path) {
  ASSIGN_OR_RETURN(const sys::UniqueFd fd, Open(path));
  return NumberOf(fd.get(), path);
}

}  // namespace muster::agent
