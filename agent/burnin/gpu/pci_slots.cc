#include "agent/burnin/gpu/pci_slots.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

constexpr absl::string_view kDevices = "/sys/bus/pci/devices";
// In the kernel's notation of vendor and class; NVSwitches and the cards' sound devices have other
// classes.
constexpr absl::string_view kNvidia = "0x10de";
constexpr absl::string_view kDisplay = "0x03";
// A file of sysfs is a page.
constexpr size_t kPage = 4096;

}  // namespace

std::string PciFolder(absl::string_view address) { return absl::StrCat(kDevices, "/", address); }

absl::StatusOr<std::vector<std::string>> GpuSlots(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(std::string(kDevices)));
  std::vector<std::string> slots;
  const auto begins_with = [&](const std::string& name, absl::string_view file,
                               absl::string_view prefix) {
    const absl::StatusOr<std::string> text =
        files.Read(absl::StrCat(PciFolder(name), "/", file), kPage);
    return text.ok() && absl::StartsWith(*text, prefix);
  };
  for (const std::string& name : names) {
    if (begins_with(name, "vendor", kNvidia) && begins_with(name, "class", kDisplay)) {
      slots.push_back(name);
    }
  }
  std::sort(slots.begin(), slots.end());
  return slots;
}

std::string SeesNoGpu(sys::FileSystem& files) {
  const auto slots = GpuSlots(files).value_or(std::vector<std::string>());
  return absl::StrCat("the NVIDIA driver sees no GPU",
                      slots.empty() ? "" : ", though there are cards at ",
                      absl::StrJoin(slots, ", "), ": check lspci and the kernel's log");
}

}  // namespace muster::burnin
