// How people name a disk: in the definition of an image, and in the inventory.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// "blank": the only disk that holds nothing. "serial:S4EVNX0M", "uuid:1b2c…": the one with that
// serial number, or with that uuid of its partition table or file system.
inline constexpr char kBlankDisk[] = "blank";
inline constexpr char kDiskBySerial[] = "serial:";
inline constexpr char kDiskByUuid[] = "uuid:";

// "" where the text is one of these; otherwise what is wrong with it. A name is one word of a
// kernel's command line.
std::string CheckDiskName(absl::string_view text);

}  // namespace muster
