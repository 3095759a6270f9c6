#include "agent/disk/esp.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::agent::disk {
namespace {

constexpr size_t kLargestEntry = size_t{64} << 10;

struct EntryFile {
  std::string name;
  std::string text;
  BootEntry entry;
};

// Good ones first, then those with the fewest tries.
bool IsBefore(const BootEntry& a, const BootEntry& b) {
  return a.tries_left.value_or(-1) < b.tries_left.value_or(-1);
}

absl::StatusOr<std::vector<EntryFile>> ReadEntryFiles(const std::string& esp,
                                                      sys::FileSystem& files) {
  std::vector<EntryFile> found;
  const std::string folder = EntryFolder(esp);
  ASSIGN_OR_RETURN(const auto stat, files.Stat(folder));
  if (!stat.has_value()) return found;
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  for (const std::string& name : names) {
    if (!ReadBootEntry(name, "").has_value()) continue;
    ASSIGN_OR_RETURN(std::string text, files.Read(absl::StrCat(folder, "/", name), kLargestEntry));
    std::optional<BootEntry> entry = ReadBootEntry(name, text);
    if (entry.has_value()) found.push_back({name, std::move(text), *std::move(entry)});
  }
  return found;
}

}  // namespace

std::string EntryFolder(const std::string& esp) { return esp + "/loader/entries"; }

absl::StatusOr<std::vector<BootEntry>> ReadEntries(const std::string& esp, sys::FileSystem& files) {
  ASSIGN_OR_RETURN(std::vector<EntryFile> found, ReadEntryFiles(esp, files));
  std::map<char, BootEntry> by_slot;
  for (EntryFile& file : found) {
    const auto [place, is_new] = by_slot.try_emplace(file.entry.slot, file.entry);
    if (!is_new && IsBefore(file.entry, place->second)) place->second = std::move(file.entry);
  }
  std::vector<BootEntry> entries;
  for (auto& [slot, entry] : by_slot) entries.push_back(std::move(entry));
  return entries;
}

absl::Status RemoveEntries(const std::string& esp, char slot, const std::string& keep,
                           sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<EntryFile> found, ReadEntryFiles(esp, files));
  for (const EntryFile& file : found) {
    if (file.entry.slot == slot && file.name != keep)
      RETURN_IF_ERROR(files.Remove(absl::StrCat(EntryFolder(esp), "/", file.name), false));
  }
  const std::string failed = FailedEntryName(slot);
  return failed == keep ? absl::OkStatus()
                        : files.Remove(absl::StrCat(EntryFolder(esp), "/", failed), false);
}

absl::Status RenameEntry(const std::string& esp, char slot, const std::string& name,
                         sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<EntryFile> found, ReadEntryFiles(esp, files));
  const EntryFile* best = nullptr;
  for (const EntryFile& file : found) {
    if (file.entry.slot == slot && (best == nullptr || IsBefore(file.entry, best->entry)))
      best = &file;
  }
  if (best == nullptr)
    return absl::NotFoundError(
        absl::StrCat(EntryFolder(esp), " has no entry of the root ", std::string(1, slot)));
  if (best->name != name)
    RETURN_IF_ERROR(files.WriteAtomically(absl::StrCat(EntryFolder(esp), "/", name), best->text,
                                          {.mode = 0600}));
  return RemoveEntries(esp, slot, name, files);
}

}  // namespace muster::agent::disk
