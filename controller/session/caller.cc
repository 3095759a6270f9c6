#include "controller/session/caller.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/security/auth_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "controller/enrollment/enrollment.h"

namespace muster::controller {
namespace {

// A status travels in a header; gRPC's limit for all headers of a response is 8 KiB.
constexpr size_t kMaxMessage = 6 << 10;
constexpr size_t kRoomForNote = 64;

// The number of bytes of the message that fit into `limit` as gRPC encodes them: '%' and everything
// outside printable ASCII takes three. Characters are not cut.
size_t FittingBytes(absl::string_view message, size_t limit) {
  size_t written = 0;
  size_t fits = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    const auto c = static_cast<unsigned char>(message[i]);
    if ((c & 0xc0) != 0x80) fits = i;
    written += c < 0x20 || c > 0x7e || c == '%' ? 3 : 1;
    if (written > limit) return fits;
  }
  return message.size();
}

absl::StatusOr<std::string> CertificateOf(const grpc::AuthContext& context) {
  const std::vector<grpc::string_ref> pems = context.FindPropertyValues("x509_pem_cert");
  if (!context.IsPeerAuthenticated() || pems.size() != 1)
    return absl::UnauthenticatedError("a client certificate of this cluster is required");
  return std::string(pems[0].data(), pems[0].size());
}

// The identities of the certificates that were shown last. Each call asks two or three times who
// its caller is, and OpenSSL 3 takes most of a millisecond to read a certificate. Thread-safe.
class RecentIdentities {
 public:
  absl::StatusOr<Identity> Of(const std::string& pem) {
    {
      absl::MutexLock lock(&mutex_);
      if (const auto found = newer_.find(pem); found != newer_.end()) return found->second;
      if (const auto found = older_.find(pem); found != older_.end()) return found->second;
    }
    ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(pem));
    ASSIGN_OR_RETURN(Identity identity, IdentityOf(certificate));
    absl::MutexLock lock(&mutex_);
    if (newer_.size() >= kMost / 2) older_ = std::exchange(newer_, {});
    newer_.emplace(pem, identity);
    return identity;
  }

 private:
  static constexpr size_t kMost = 256;

  absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Identity> newer_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Identity> older_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<Identity> IdentityIn(const std::string& pem) {
  static RecentIdentities* const recent = new RecentIdentities();
  return recent->Of(pem);
}

}  // namespace

Actor Caller::ToActor() const { return {identity.Actor(), peer}; }

absl::StatusOr<Identity> IdentityOf(const grpc::AuthContext& context) {
  ASSIGN_OR_RETURN(const std::string pem, CertificateOf(context));
  return IdentityIn(pem);
}

absl::StatusOr<Caller> CallerOf(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  Caller caller;
  ASSIGN_OR_RETURN(caller.certificate_pem, CertificateOf(*auth));
  ASSIGN_OR_RETURN(caller.identity, IdentityIn(caller.certificate_pem));
  caller.peer = context.peer();
  return caller;
}

bool FitsStatus(absl::string_view message) {
  return FittingBytes(message, kMaxMessage) == message.size();
}

grpc::Status ToGrpc(const absl::Status& status) {
  std::string message(status.message());
  if (!FitsStatus(message)) {
    message.resize(FittingBytes(message, kMaxMessage - kRoomForNote));
    absl::StrAppend(&message, "… (cut here: ", status.message().size() - message.size(),
                    " more bytes do not fit an answer)");
  }
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message);
}

grpc::Status ActAsCaller(const grpc::ServerContextBase& context,
                         absl::FunctionRef<absl::Status(const Actor& actor)> call) {
  const absl::StatusOr<Caller> caller = CallerOf(context);
  return ToGrpc(caller.ok() ? call(caller->ToActor()) : caller.status());
}

}  // namespace muster::controller
