// Fetches blobs from the controller, over the agent's existing connection.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "agent/session/channel.h"
#include "agent/transfer/blob_transport.h"

namespace muster {
class Clock;
}

namespace muster::agent {

// Continues where a broken connection stopped. Thread-safe.
class BlobFetcher final : public BlobTransport {
 public:
  // Both outlive the fetcher.
  BlobFetcher(CurrentChannel& channel, Clock& clock) : channel_(channel), clock_(clock) {}

  absl::Status Fetch(const std::string& sha256, uint64_t size, const std::string& path,
                     const TransferHooks& hooks) override;

 private:
  CurrentChannel& channel_;
  Clock& clock_;
};

}  // namespace muster::agent
