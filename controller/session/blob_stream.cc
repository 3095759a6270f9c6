#include "controller/session/blob_stream.h"

#include <utility>

#include "absl/status/statusor.h"
#include "controller/artifact/blob_store.h"
#include "controller/session/caller.h"

namespace muster::controller {

BlobStream::BlobStream(BlobStore& blobs, std::string sha256, uint64_t offset,
                       const absl::Status& allowed)
    : blobs_(blobs), sha256_(std::move(sha256)), offset_(offset) {
  if (allowed.ok()) {
    Next();
  } else {
    Finish(ToGrpc(allowed));
  }
}

void BlobStream::OnWriteDone(bool ok) {
  if (ok) {
    Next();
  } else {
    Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the connection broke"));
  }
}

void BlobStream::Next() {
  absl::StatusOr<std::string> data = blobs_.Read(sha256_, offset_, kPieceBytes);
  if (!data.ok() || data->empty()) {
    Finish(ToGrpc(data.status()));
    return;
  }
  offset_ += data->size();
  *piece_.mutable_data() = *std::move(data);
  StartWrite(&piece_);
}

}  // namespace muster::controller
