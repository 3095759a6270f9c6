// The contents of a plan in a folder, each in a file named by its digest.
#pragma once

#include <string>
#include <utility>

#include "agent/transfer/blob_transport.h"

namespace muster::agent {

// Thread-safe.
class FolderBlobs final : public BlobTransport {
 public:
  explicit FolderBlobs(std::string folder) : folder_(std::move(folder)) {}

  absl::Status Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                     const TransferHooks& hooks) override;

 private:
  const std::string folder_;
};

}  // namespace muster::agent
