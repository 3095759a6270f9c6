// What the boot loader of a node's disk offers: an entry for each of the two roots. Pure.
//
// The entries are those of the Boot Loader Specification, which systemd-boot reads, on the EFI
// system partition. A new one has tries in its name, which the loader counts down before each boot;
// when none is left the other root is booted.
//
//   loader/entries/muster-a.conf        good
//   loader/entries/muster-b+3.conf      to be tried
//   loader/entries/muster-b+2-1.conf    tried once
//   loader/entries/muster-b+0-3.conf    has never come up
//   loader/entries/muster-b.failed      the same, when it has been told
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::agent::disk {

// The names of the roots.
inline constexpr char kSlots[] = {'a', 'b'};
// How often a new root may be tried.
inline constexpr int kTries = 3;

char OtherSlot(char slot);

// What an entry boots, and what the kernel is told.
struct BootEntry {
  char slot = 'a';
  std::optional<int> tries_left;             // absent: it has come up
  uint64_t generation = 0;                   // the higher one boots first
  std::string image;                         // "debian-worker-disk@1a2b3c4d5e6f"
  std::map<std::string, std::string> words;  // of the kernel's command line: NAME=VALUE
  // What it boots is a signed kernel image, which has its own command line: the words are the
  // agent's alone.
  bool is_signed = false;
};

// Nullopt: the file is not an entry of ours.
std::optional<BootEntry> ReadBootEntry(absl::string_view file_name, absl::string_view text);
// "muster-b+3.conf"; without tries "muster-b.conf".
std::string BootEntryName(char slot, std::optional<int> tries_left);
// The name under which one that has never come up is kept out of the loader's way.
std::string FailedEntryName(char slot);
// The text of an entry; `options` are its words.
std::string RenderBootEntry(const BootEntry& entry, const std::vector<std::string>& options);

// Which root a new image is written into while neither of them runs: never the only one that has
// come up, and of two such the older one.
char SlotToWrite(const std::vector<BootEntry>& entries);
uint64_t NextGeneration(const std::vector<BootEntry>& entries);

// The entry of a newer root than the one that runs, which has used up its tries; nullptr: there is
// none.
const BootEntry* FallenBackFrom(const std::vector<BootEntry>& entries, char running);
// Whether the machine could go back to another root that has come up, and that its firmware starts.
bool HasWayBack(const std::vector<BootEntry>& entries, char running);

}  // namespace muster::agent::disk
