#include "controller/session/blob_stream.h"

#include <utility>

#include "absl/status/statusor.h"
#include "controller/artifact/blob_store.h"
#include "controller/session/caller.h"
#include "controller/session/refusal.h"

namespace muster::controller {
bool BlobQuota::Take(const std::string& node_uuid) {
  absl::MutexLock lock(&mutex_);
  size_t& taken = taken_[node_uuid];
  if (taken >= kMaxOfNode) return false;
  ++taken;
  return true;
}

void BlobQuota::Give(const std::string& node_uuid) {
  absl::MutexLock lock(&mutex_);
  const auto taken = taken_.find(node_uuid);
  if (--taken->second == 0) taken_.erase(taken);
}

grpc::ServerWriteReactor<v1::FetchBlobResponse>* BlobStream::Refuse(const absl::Status& status) {
  return new Refusal<grpc::ServerWriteReactor<v1::FetchBlobResponse>>(status);
}

BlobStream::BlobStream(BlobStore& blobs, BlobQuota& quota, OpenCalls::Entry open_call,
                       std::string node_uuid, std::string sha256, uint64_t offset)
    : blobs_(blobs),
      quota_(quota),
      node_uuid_(std::move(node_uuid)),
      sha256_(std::move(sha256)),
      offset_(offset),
      open_call_(std::move(open_call)) {
  Next();
}

void BlobStream::OnDone() {
  quota_.Give(node_uuid_);
  delete this;
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
