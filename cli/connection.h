// The mutually authenticated channel to the controller.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/call_metadata.h"
#include "muster/v1/refusal.pb.h"

namespace muster::cli {

inline constexpr absl::Duration kCallTimeout = absl::Seconds(30);

// Thread-safe once open.
class Connection {
 public:
  // Reads cli.json and the credentials from `directory`, or, when that is empty, from
  // $MUSTER_CONFIG_DIR, ~/.config/muster or /etc/muster/admin, whichever has them first. Does not
  // contact the controller yet. FailedPrecondition: the credentials do not fit together or are
  // not valid at `now`.
  static absl::StatusOr<std::unique_ptr<Connection>> Open(const std::string& directory,
                                                          absl::Time now);

  std::shared_ptr<grpc::Channel> channel() const;
  // Opens a new channel for all later calls, for callers that wait for a controller to restart: a
  // channel that was cut off in the middle of a handshake has been seen to stay broken for minutes.
  void Renew();
  // host:port.
  const std::string& address() const { return address_; }
  // The folder of the credentials, and the certificate in it.
  const std::string& folder() const { return folder_; }
  const std::string& certificate_pem() const { return certificate_pem_; }

  // The verb of the command line that makes the calls, "node remove", for the controller's
  // messages.
  void set_verb(const std::string& verb) { verb_ = verb; }
  const std::string& verb() const { return verb_; }

  // OK, or the controller's message; failures of the connection itself say what to do.
  absl::Status Convert(const grpc::Status& status) const;

 private:
  using MakeChannel = std::function<std::shared_ptr<grpc::Channel>()>;

  Connection(std::string folder, std::string address, std::string certificate_pem,
             MakeChannel make_channel);

  const std::string folder_;
  const std::string address_;
  const std::string certificate_pem_;
  const MakeChannel make_channel_;
  std::string verb_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<grpc::Channel> channel_ ABSL_GUARDED_BY(mutex_);
};

// All errors of a refusal, a paragraph each.
absl::Status ToStatus(const v1::Refusal& refusal);

// Makes one unary call with a deadline: Call(connection, stub, &Stub::ListNodes, request,
// &response). A response that says that the call was refused is an error, too.
template <typename Stub, typename Request, typename Response>
absl::Status Call(const Connection& connection, Stub& stub,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request& request, Response* response,
                  absl::Duration timeout = kCallTimeout) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  if (!connection.verb().empty()) context.AddMetadata(kVerbMetadata, connection.verb());
  const absl::Status status = connection.Convert((stub.*method)(&context, request, response));
  if constexpr (requires { response->refusal(); }) {
    if (status.ok() && response->has_refusal()) return ToStatus(response->refusal());
  }
  return status;
}

}  // namespace muster::cli
