// Streams a blob to an agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <grpcpp/support/server_callback.h>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "controller/session/open_calls.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

class BlobStore;

// Counts the blobs that each node is fetching. Thread-safe.
class BlobQuota {
 public:
  // An agent fetches one blob ahead of its steps and one for its current step.
  static constexpr size_t kMaxOfNode = 8;

  // False: the node has as many already. True: Give() gives it back.
  bool Take(const std::string& node_uuid);
  void Give(const std::string& node_uuid);

 private:
  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, size_t> taken_ ABSL_GUARDED_BY(mutex_);
};

// The reactor of FetchBlob: holds one piece at a time and reads the next after it is written.
// Deletes itself.
class BlobStream final : public grpc::ServerWriteReactor<v1::FetchBlobResponse> {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;

  // A stream that ends at once with `status`.
  static grpc::ServerWriteReactor<v1::FetchBlobResponse>* Refuse(const absl::Status& status);
  // The caller has taken one of `quota` for the node; the stream gives it back. The references must
  // outlive the object.
  BlobStream(BlobStore& blobs, BlobQuota& quota, OpenCalls::Entry open_call, std::string node_uuid,
             std::string sha256, uint64_t offset);

  void OnWriteDone(bool ok) override;
  void OnDone() override;

 private:
  void Next();

  BlobStore& blobs_;
  BlobQuota& quota_;
  const std::string node_uuid_;
  const std::string sha256_;
  uint64_t offset_;
  v1::FetchBlobResponse piece_;
  const OpenCalls::Entry open_call_;
};

}  // namespace muster::controller
