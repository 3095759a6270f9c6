// The agent's connection to its controller.
#pragma once

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/state/identity.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace muster::agent {

// A channel with mutual TLS as this identity. A dead link is noticed 5 s after the agent has sent
// something, a controller that hangs after 65 s. Does not connect yet.
std::shared_ptr<grpc::Channel> OpenChannel(const Identity& identity);

// A channel for a machine without a certificate: the server must show one of `ca_pem` for
// `server_name`; "": for the host of the address.
std::shared_ptr<grpc::Channel> OpenEnrollmentChannel(const std::string& address,
                                                     const std::string& ca_pem,
                                                     const std::string& server_name = "");

// gRPC's codes are numerically Abseil's.
absl::Status FromGrpc(const grpc::Status& status);

// The channel that is in use now, for calls beside the stream. Thread-safe.
class CurrentChannel {
 public:
  void Set(std::shared_ptr<grpc::Channel> channel);
  // nullptr before the first connection.
  std::shared_ptr<grpc::Channel> Get() const;

 private:
  mutable absl::Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
