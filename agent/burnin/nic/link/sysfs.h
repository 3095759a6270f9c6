// Attributes of devices, as the kernel shows them below /sys.
#pragma once

#include <cstddef>
#include <string>

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

inline constexpr size_t kPage = 4096;  // bytes; no attribute is longer

// What the file says, without the white space around it; empty when it cannot be read.
std::string ReadText(sys::FileSystem& files, const std::string& path);

}  // namespace muster::burnin
