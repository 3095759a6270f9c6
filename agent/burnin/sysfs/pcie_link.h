// Links of devices to the PCI bus, as the kernel reports them.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// The speed and width of a link to the PCI bus.
struct PcieLink {
  double speed_gts = 0;  // GT/s per lane
  int width = 0;         // lanes
};

// The link of the device with this folder in /sys, by its attributes "current_…" or "max_…".
// nullopt: it is not on PCI Express.
std::optional<PcieLink> ReadPcieLink(sys::FileSystem& files, const std::string& device,
                                     absl::string_view prefix);
// The best link of the port above the device, whose slot may have fewer lanes than the card.
// nullopt: the machine shows none, such as a virtual one.
std::optional<PcieLink> ReadPortAbove(sys::FileSystem& files, const std::string& device);

// What a card can do in a slot: the lesser of both.
PcieLink InSlot(const PcieLink& card, const PcieLink& slot);

// "16.0 GT/s PCIe" → 16; 0: it is not a speed.
double ParsePcieSpeed(absl::string_view text);
// The generation whose lanes have this speed: 16 GT/s → 4; 0: none has.
unsigned PcieGenerationOf(double speed_gts);

}  // namespace muster::burnin
