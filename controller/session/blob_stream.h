// A blob on its way to an agent.
#pragma once

#include <cstdint>
#include <string>

#include <grpcpp/support/server_callback.h>

#include "absl/status/status.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::controller {

class BlobStore;

// The reactor of FetchBlob: holds one piece at a time and reads the next when it is written.
// Deletes itself.
class BlobStream final : public grpc::ServerWriteReactor<v1::FetchBlobResponse> {
 public:
  static constexpr size_t kPieceBytes = 64 * 1024;

  // Ends at once when `allowed` is an error.
  BlobStream(BlobStore& blobs, std::string sha256, uint64_t offset, const absl::Status& allowed);

  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void Next();

  BlobStore& blobs_;
  const std::string sha256_;
  uint64_t offset_;
  v1::FetchBlobResponse piece_;
};

}  // namespace muster::controller
