// File contents that do not travel in the plan: fetched once, kept by their digest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/resources/blob_source.h"
#include "agent/session/channel.h"
#include "agent/state/paths.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// Takes blobs from the state's folder and, when they are not there, from the controller; goes on
// where a broken connection stopped. Thread-safe.
class BlobFetcher final : public BlobSource {
 public:
  // Blobs kept; beyond, the oldest go.
  static constexpr size_t kKept = 512;

  // `stopping`: true ends waiting for the controller.
  BlobFetcher(Paths paths, CurrentChannel& channel, sys::FileSystem& files, Clock& clock,
              std::function<bool()> stopping);

  absl::StatusOr<std::string> Get(const std::string& sha256, uint64_t size) override;

 private:
  absl::StatusOr<std::string> Fetch(const std::string& sha256, uint64_t size);
  absl::Status FetchOnce(const std::string& sha256, uint64_t size, std::string& data);
  void DropOldest();

  const Paths paths_;
  CurrentChannel& channel_;
  sys::FileSystem& files_;
  Clock& clock_;
  const std::function<bool()> stopping_;
};

}  // namespace muster::agent
