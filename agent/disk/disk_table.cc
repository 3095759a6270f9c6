#include "agent/disk/disk_table.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/value/disk_layout.h"
#include "muster/v1/image.pb.h"

namespace muster::agent::disk {
namespace {

using Json = nlohmann::json;

// Both copies of the table, and room between partitions.
constexpr uint64_t kSpareMib = 16;
// Where the last partition takes the rest, there has to be some.
constexpr uint64_t kLeastRestMib = 64;
constexpr uint64_t kUsualSector = 512;

// Devices of the kernel's that have no storage of their own.
bool IsOfMemory(absl::string_view path) {
  return absl::StartsWith(path, "/dev/zram") || absl::StartsWith(path, "/dev/ram") ||
         absl::StartsWith(path, "/dev/nbd");
}

std::string TextOf(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t NumberOf(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

bool IsTrue(const Json& value, const char* key) {
  const auto found = value.find(key);
  return found != value.end() && found->is_boolean() && found->get<bool>();
}

// The list below `outer`, `inner`; nullptr: there is none.
const Json* ListOf(const Json& value, const char* key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found != value.end() && found->is_array() ? &*found : nullptr;
}

std::string Line(const std::string& size_mib, absl::string_view type, absl::string_view name) {
  return absl::StrCat(size_mib, "type=", type, ", name=\"", name, "\"\n");
}

std::string SizeOf(uint64_t mib) { return mib == 0 ? "" : absl::StrCat("size=", mib, "MiB, "); }

}  // namespace

const Partition* PartitionTable::Find(absl::string_view name) const {
  const auto found = std::find_if(partitions.begin(), partitions.end(),
                                  [name](const Partition& each) { return each.name == name; });
  return found == partitions.end() ? nullptr : &*found;
}

absl::StatusOr<PartitionTable> ReadPartitionTable(absl::string_view json) {
  const Json value = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || !value.contains("partitiontable") ||
      !value["partitiontable"].is_object())
    return absl::DataLossError("sfdisk did not describe a partition table");
  const Json& described = value["partitiontable"];
  uint64_t sector = NumberOf(described, "sectorsize");
  if (sector == 0 || sector > kMib) sector = kUsualSector;
  PartitionTable table;
  table.id = absl::AsciiStrToLower(TextOf(described, "id"));
  const Json* const partitions = ListOf(described, "partitions");
  if (partitions == nullptr) return table;
  for (const Json& each : *partitions) {
    if (!each.is_object()) return absl::DataLossError("sfdisk listed something unknown");
    const uint64_t sectors = NumberOf(each, "size");
    table.partitions.push_back({.device = TextOf(each, "node"),
                                .uuid = absl::AsciiStrToLower(TextOf(each, "uuid")),
                                .name = TextOf(each, "name"),
                                .bytes = sectors > (uint64_t{1} << 50) ? 0 : sectors * sector});
  }
  return table;
}

absl::StatusOr<std::vector<DiskDevice>> ReadDiskDevices(absl::string_view json) {
  const Json value = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  const Json* const devices = ListOf(value, "blockdevices");
  if (devices == nullptr) return absl::DataLossError("lsblk did not list block devices");
  std::vector<DiskDevice> disks;
  for (const Json& each : *devices) {
    if (!each.is_object()) return absl::DataLossError("lsblk listed something unknown");
    DiskDevice disk = {.path = TextOf(each, "path"),
                       .bytes = NumberOf(each, "size"),
                       .serial = TextOf(each, "serial")};
    absl::StripAsciiWhitespace(&disk.serial);
    const bool is_usable = TextOf(each, "type") == "disk" && !IsTrue(each, "ro") &&
                           !IsTrue(each, "rm") && disk.bytes > 0 && !disk.path.empty() &&
                           !IsOfMemory(disk.path);
    if (is_usable) disks.push_back(std::move(disk));
  }
  return disks;
}

bool IsMusterTable(const PartitionTable& table) {
  const char* const names[] = {kEspPartition, kRootAPartition, kRootBPartition, kStatePartition};
  return std::all_of(std::begin(names), std::end(names), [&](const char* name) {
    return std::count_if(table.partitions.begin(), table.partitions.end(),
                         [name](const Partition& partition) { return partition.name == name; }) ==
           1;
  });
}

std::string DivisionScript(const v1::DiskLayout& layout) {
  std::string script = absl::StrCat("label: gpt\nlabel-id: ", kUnfinishedTable, "\n");
  absl::StrAppend(&script, Line(SizeOf(layout.esp_mib()), "uefi", kEspPartition),
                  Line(SizeOf(layout.root_mib()), "linux", kRootAPartition),
                  Line(SizeOf(layout.root_mib()), "linux", kRootBPartition),
                  Line(SizeOf(layout.state_mib()), "linux", kStatePartition));
  for (const v1::DiskPartition& each : layout.partitions())
    absl::StrAppend(&script,
                    Line(SizeOf(each.mib()), "linux", absl::StrCat(kPartitionPrefix, each.name())));
  return script;
}

uint64_t BytesOfLayout(const v1::DiskLayout& layout) {
  const auto least = [](uint64_t mib) { return mib == 0 ? kLeastRestMib : mib; };
  uint64_t mib = kSpareMib + layout.esp_mib() + 2 * layout.root_mib() + least(layout.state_mib());
  for (const v1::DiskPartition& each : layout.partitions()) mib += least(each.mib());
  return mib * kMib;
}

}  // namespace muster::agent::disk
