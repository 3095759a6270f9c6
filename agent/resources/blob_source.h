// File contents that travel apart from the plan.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace muster::agent {

// Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  // The content with this SHA-256 (lower-case hex) of `size` bytes: from the node's own store, or
  // fetched from the controller, which may take as long as the network needs. What is returned
  // has that digest. NotFound when the controller has no such blob.
  virtual absl::StatusOr<std::string> Get(const std::string& sha256, uint64_t size) = 0;
};

}  // namespace muster::agent
