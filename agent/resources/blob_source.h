// Contents that are sent separately from the plan.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

class ApplyObserver;

// A content that a step needs, and its origin.
struct Content {
  std::string sha256;             // lower-case hex
  uint64_t size = 0;              // bytes; for a blob
  std::vector<std::string> urls;  // tried in order; empty: it is a blob of the controller
  // The rest is for urls; see DownloadResource.
  std::string proxy;
  absl::Duration timeout = absl::Minutes(30);
  uint32_t attempts = 3;
};

// A content on this node's disk, which only root can read.
struct StoredContent {
  std::string path;
  // Nothing else needs it: the file may be moved to its destination.
  bool may_move = false;
};

// Thread-safe.
class BlobSource {
 public:
  virtual ~BlobSource() = default;
  // The blob with this SHA-256 of `size` bytes: from the node's own store, or fetched from the
  // controller, which may take as long as the network needs. The returned content has that digest.
  // NotFound when the controller has no such blob.
  virtual absl::StatusOr<std::string> Get(const std::string& sha256, uint64_t size) = 0;
  // The same for contents of any size and origin, as a file with that digest. It exists until the
  // plan is finished. Cancelled: the agent stops.
  virtual absl::StatusOr<StoredContent> Fetch(const Content& content, ApplyObserver& observer) = 0;
};

}  // namespace muster::agent
