// The answer to a call that reads the caller's files.
#pragma once

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "controller/session/caller.h"
#include "muster/v1/refusal.pb.h"

namespace muster::controller {

// Whether the errors go into the response: when there are several, or one that is too long for a
// status.
bool NeedsRefusal(const absl::Status& status);
v1::Refusal ToRefusal(const absl::Status& status);

// `response` has a field `refusal`.
template <typename Response>
grpc::Status Answer(const absl::Status& status, Response* response) {
  if (!NeedsRefusal(status)) return ToGrpc(status);
  response->Clear();
  *response->mutable_refusal() = ToRefusal(status);
  return grpc::Status::OK;
}

}  // namespace muster::controller
