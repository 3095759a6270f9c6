// Bundles come from the network: whatever the bytes are, the bounds must hold.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "common/sys/archive/archive.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(archive, data, size) {
  constexpr muster::sys::ArchiveLimits kLimits = {.max_files = 50, .max_total_bytes = 1 << 20};
  const auto files = muster::sys::UnpackTarGz(
      absl::string_view(reinterpret_cast<const char*>(data), size), kLimits);
  if (!files.ok()) return 0;
  size_t total = 0;
  for (const auto& [path, content] : *files) {
    if (path.empty() || path[0] == '/' || path.find("../") != std::string::npos) std::abort();
    total += content.size();
  }
  if (files->size() > kLimits.max_files || total > kLimits.max_total_bytes) std::abort();
  // Accepted files can be packed, and come back unchanged.
  const auto packed = muster::sys::PackTarGz(*files);
  if (!packed.ok() || *muster::sys::UnpackTarGz(*packed) != *files) std::abort();
  return 0;
}
