// A root on its way from a file into its partition.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::agent::disk {

struct RootCopy {
  std::string from;    // a regular file
  std::string to;      // a partition, which has room for it
  std::string sha256;  // that the file has to have
  // Called after each piece; done and total are bytes.
  std::function<void(uint64_t done, uint64_t total)> on_piece = {};
};

// Writes the file to the beginning of the partition, has the disk keep it, and reads it back from
// there. Returns the bytes of the root. DataLoss: the file does not have the digest, or the disk
// gives back something else.
absl::StatusOr<uint64_t> CopyRoot(const RootCopy& copy);

}  // namespace muster::agent::disk
