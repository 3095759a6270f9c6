// Attributes of devices below /sys.
#pragma once

#include <cstddef>
#include <string>

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

inline constexpr size_t kPage = 4096;  // bytes; no attribute is longer

// The content of the file without surrounding white space; empty if it cannot be read.
std::string ReadText(sys::FileSystem& files, const std::string& path);

}  // namespace muster::burnin
