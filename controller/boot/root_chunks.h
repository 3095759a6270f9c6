// The chunks of roots, and the machines that pass them on to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "controller/boot/chunk_exchange.h"
#include "controller/http/http_message.h"

namespace muster {
class Clock;
}
namespace muster::controller::image {
class ArtifactStore;
}

namespace muster::controller::boot {

struct BootRequest;

// Where machines serve the chunks that they have, as /N.
inline constexpr int kChunkPort = 7484;

// The size of all chunks of a root but its last: a 128th of it, so that everybody soon has one to
// give, within bounds below which the requests are most of the work and above which one that is
// lost costs much.
uint64_t ChunkBytes(uint64_t root_bytes);
// OutOfRange: the root has no such chunk.
absl::StatusOr<HttpReply::Part> PartOf(size_t chunk, uint64_t root_bytes);

// Reads a root once to know the digests of its chunks, and has an exchange for each root that
// machines fetch. Thread-safe; the first call for a root takes as long as the disk does for it, and
// others are told to wait meanwhile.
class RootChunks {
 public:
  // Roots that are fetched at the same time; the one that was asked for least lately makes room.
  static constexpr size_t kMaxRoots = 8;

  RootChunks(image::ArtifactStore& artifacts, Clock& clock)
      : artifacts_(artifacts), clock_(clock) {}

  // A root, and a machine that fetches it.
  struct Asking {
    std::string root_sha256;
    uint64_t root_bytes = 0;
    std::string peer;  // as of HttpRequest
    std::string rack;
  };
  struct Reply {
    // "fetch N SHA256 URL", "wait SECONDS", "whole"; to a machine that leaves "wait SECONDS" or
    // "gone".
    std::string line;
    bool is_whole = false;  // the machine has all chunks
  };
  // Takes what the machine tells of its last fetch, and says what it does next. Errors of reading
  // the root.
  absl::StatusOr<Reply> Answer(const BootRequest& request, const Asking& asking);

 private:
  struct Root {
    explicit Root(std::vector<std::string> digests_of_chunks)
        : digests(std::move(digests_of_chunks)), exchange(digests.size()) {}
    const std::vector<std::string> digests;
    absl::Mutex mutex;
    ChunkExchange exchange ABSL_GUARDED_BY(mutex);
    absl::Time asked_at ABSL_GUARDED_BY(mutex) = absl::InfinitePast();
  };

  // nullptr: roots are being read.
  absl::StatusOr<std::shared_ptr<Root>> Find(const Asking& asking);
  // The digests of its chunks.
  absl::StatusOr<std::vector<std::string>> Read(const Asking& asking);
  void MakeRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  image::ArtifactStore& artifacts_;
  Clock& clock_;
  absl::Mutex mutex_;                                // before those of roots
  bool is_reading_ ABSL_GUARDED_BY(mutex_) = false;  // a root
  std::map<std::string, std::shared_ptr<Root>> roots_ ABSL_GUARDED_BY(mutex_);  // by digest
};

}  // namespace muster::controller::boot
