// No text of a disk's, its boot entries, or the programs that read it may crash the readers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "agent/disk/boot_entries.h"
#include "agent/disk/disk_table.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(disk_text, data, size) {
  using namespace muster::agent::disk;
  const std::string text(reinterpret_cast<const char*>(data), size);
  // The name of an entry's file, and its text.
  const size_t end = text.find('\n');
  const std::string rest = end == std::string::npos ? "" : text.substr(end + 1);
  const auto entry = ReadBootEntry(text.substr(0, end), rest);
  if (entry.has_value()) {
    if (std::find(std::begin(kSlots), std::end(kSlots), entry->slot) == std::end(kSlots))
      std::abort();
    if (entry->tries_left.value_or(0) < 0) std::abort();
    const char slot = SlotToWrite({*entry});
    // The only one that has come up is never written.
    if (!entry->tries_left.has_value() && slot == entry->slot) std::abort();
  }
  const auto table = ReadPartitionTable(text);
  if (table.ok() && IsMusterTable(*table) && table->partitions.size() < 4) std::abort();
  const auto disks = ReadDiskDevices(text);
  if (disks.ok()) {
    for (const DiskDevice& disk : *disks) {
      if (disk.path.empty() || disk.bytes == 0) std::abort();
    }
  }
  return 0;
}
