// Fetches a blob from the controller, as transfers need it.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "agent/transfer/hooks.h"

namespace muster::agent {

// Thread-safe for different blobs.
class BlobTransport {
 public:
  virtual ~BlobTransport() = default;
  // Blocks until the file at `path` has all `size` bytes; present content is kept and continued.
  // NotFound: the controller has no such blob. DataLoss: its bytes are different.
  virtual absl::Status Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                             const TransferHooks& hooks) = 0;
};

}  // namespace muster::agent
