#include "agent/session/channel.h"

#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/status.h>

namespace muster::agent {
namespace {

// A ping when nothing has come for a minute, an answer within five seconds. The second value also
// bounds, by TCP_USER_TIMEOUT, how long sent data may stay unacknowledged: heartbeats notice a dead
// link. Pings are left to notice a controller that hangs while its kernel acknowledges. An idle
// agent receives nothing, so a ping with each heartbeat would double its cost.
constexpr int kKeepaliveMs = 60'000;
constexpr int kKeepaliveTimeoutMs = 5'000;
// The session's own backoff decides when to retry; gRPC's must not add its minutes to it.
constexpr int kReconnectMs = 1'000;
// gRPC's "minimum backoff" is the time limit of an attempt. A controller to which thousands return
// at once takes seconds for a handshake, and its own limit for one is as long.
constexpr int kConnectTimeoutMs = 10'000;
// Plans carry file contents.
constexpr int kMaxMessageBytes = 64 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMs);
  // A renewed certificate must make a new connection, not find the old one in the global pool.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  return arguments;
}

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(const Identity& identity) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = identity.ca_pem;
  options.pem_cert_chain = identity.certificate_pem;
  options.pem_private_key = identity.key_pem;
  return grpc::CreateCustomChannel(identity.controller_address, grpc::SslCredentials(options),
                                   Arguments());
}

std::shared_ptr<grpc::Channel> OpenEnrollmentChannel(const std::string& address,
                                                     const std::string& ca_pem,
                                                     const std::string& server_name) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = ca_pem;
  grpc::ChannelArguments arguments = Arguments();
  if (!server_name.empty()) arguments.SetSslTargetNameOverride(server_name);
  return grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments);
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

void CurrentChannel::Set(std::shared_ptr<grpc::Channel> channel) {
  absl::MutexLock lock(&mutex_);
  channel_ = std::move(channel);
}

std::shared_ptr<grpc::Channel> CurrentChannel::Get() const {
  absl::MutexLock lock(&mutex_);
  return channel_;
}

}  // namespace muster::agent
