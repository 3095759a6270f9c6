#include "agent/burnin/sysfs/pcie_link.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "agent/burnin/sysfs/sysfs.h"

namespace muster::burnin {
namespace {

// The speeds of the generations, from 1 on.
constexpr double kSpeedsGts[] = {2.5, 5, 8, 16, 32, 64};

}  // namespace

std::optional<PcieLink> ReadPcieLink(sys::FileSystem& files, const std::string& device,
                                     absl::string_view prefix) {
  PcieLink link;
  link.speed_gts =
      ParsePcieSpeed(ReadText(files, absl::StrCat(device, "/", prefix, "_link_speed")));
  if (!absl::SimpleAtoi(ReadText(files, absl::StrCat(device, "/", prefix, "_link_width")),
                        &link.width))
    return std::nullopt;
  // A device that is not on PCI Express reports 0 or 255.
  if (link.speed_gts <= 0 || link.width <= 0 || link.width > 64) return std::nullopt;
  return link;
}

std::optional<PcieLink> ReadPortAbove(sys::FileSystem& files, const std::string& device) {
  return ReadPcieLink(files, device + "/..", "max");
}

PcieLink InSlot(const PcieLink& card, const PcieLink& slot) {
  return {std::min(card.speed_gts, slot.speed_gts), std::min(card.width, slot.width)};
}

double ParsePcieSpeed(absl::string_view text) {
  double speed = 0;
  return absl::SimpleAtod(text.substr(0, text.find(' ')), &speed) && speed > 0 && speed < 1000
             ? speed
             : 0;
}

unsigned PcieGenerationOf(double speed_gts) {
  unsigned generation = 0;
  for (const double speed : kSpeedsGts) {
    ++generation;
    if (speed == speed_gts) return generation;
  }
  return 0;
}

}  // namespace muster::burnin
