// CRC-32C (Castagnoli): finds torn and flipped bytes in our files.
#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"

namespace muster {

// The checksum of `data`; 0 for no data.
uint32_t Crc32c(absl::string_view data);

}  // namespace muster
