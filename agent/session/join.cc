#include "agent/session/join.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "agent/session/channel.h"
#include "agent/session/dial.h"
#include "agent/session/pinned_ca.h"
#include "agent/session/renewal.h"
#include "agent/session/reserved_port_relay.h"
#include "agent/session/tpm.h"
#include "agent/state/identity.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/pki/endorsement_key.h"
#include "common/pki/key.h"
#include "common/sys/file_system.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kHandshakeTimeout = absl::Seconds(10);
constexpr absl::Duration kJoinTimeout = absl::Seconds(30);
// Looks are counted, because the clock is what may be wrong.
constexpr absl::Duration kClockInterval = absl::Seconds(5);
constexpr int kLooksAtClock = 12;

// The uuid of a membership that the join renews, because its certificate has expired; "": there is
// none. AlreadyExists: this machine is a node.
absl::StatusOr<std::string> FindExpired(const JoinOptions& options, const Paths& paths,
                                        sys::FileSystem& files, absl::Time now) {
  ASSIGN_OR_RETURN(const bool joined, HasIdentity(paths, files));
  if (!joined) return "";
  ASSIGN_OR_RETURN(const bool turned_away, WasTurnedAway(paths, files));
  if (turned_away) return "";
  const absl::StatusOr<Identity> identity = LoadIdentity(paths, files);
  if (identity.ok()) {
    const absl::StatusOr<pki::Certificate> own = pki::ParseCertificate(identity->certificate_pem);
    if (own.ok() && own->not_after < now)
      return identity->node_name == options.node_name ? identity->node_uuid : "";
  }
  return absl::AlreadyExistsError(
      absl::StrCat("this machine has already joined",
                   identity.ok() ? absl::StrCat(" as ", identity->node_name, " of the controller ",
                                                identity->controller_address)
                                 : std::string(),
                   "; `muster-agent check` shows what keeps it from connecting; pass --force to "
                   "join again under a new identity, which has to pass its validation anew"));
}

// The controller would admit the machine, and with --force end its earlier membership; the machine
// would then refuse the certificate that it gets.
absl::Status CheckClock(const std::string& certificate_pem, absl::string_view what,
                        absl::Time now) {
  const absl::StatusOr<pki::Certificate> certificate = pki::ParseCertificate(certificate_pem);
  if (!certificate.ok()) return absl::OkStatus();
  const std::string remedy = ClockRemedy(certificate->not_before, now, what);
  return remedy.empty() ? absl::OkStatus() : absl::FailedPreconditionError(remedy);
}

// Whether the certificate was made after `now`.
bool IsClockBehind(const absl::StatusOr<std::string>& certificate_pem, absl::Time now) {
  return certificate_pem.ok() && !CheckClock(*certificate_pem, "", now).ok();
}

absl::Status WriteSecret(sys::FileSystem& files, const std::string& path,
                         const std::string& content) {
  sys::WriteOptions options;
  options.mode = 0600;
  return files.WriteAtomically(path, content, options);
}

// The request that this machine presents to the controller.
struct Request {
  std::string uuid;
  std::string key_pem;
  std::string csr_pem;
  bool is_of_earlier_join = false;
};

// The request of an interrupted join, or a new one; it is on disk before anybody learns of it. The
// controller repeats its answer only for the same uuid and CSR, and a join token works once.
// `machine`: the uuid that it has to have; "": any.
absl::StatusOr<Request> MakeRequest(const JoinOptions& options, const Paths& paths,
                                    sys::FileSystem& files, const std::string& machine) {
  RETURN_IF_ERROR(MakeStateDirectories(paths, files));
  if (!options.force) {
    absl::StatusOr<std::string> uuid = files.Read(paths.JoinUuid());
    const absl::StatusOr<std::string> key = files.Read(paths.JoinKey());
    const absl::StatusOr<std::string> csr = files.Read(paths.JoinRequest());
    if (uuid.ok()) absl::StripAsciiWhitespace(&*uuid);
    if (uuid.ok() && key.ok() && csr.ok() && IsUuid(*uuid) && (machine.empty() || machine == *uuid))
      return Request{*uuid, *key, *csr, /*is_of_earlier_join=*/true};
  }
  ASSIGN_OR_RETURN(pki::KeyAndCsr made, pki::MakeKeyAndCsr(options.node_name));
  Request request{machine.empty() ? NewUuid() : machine, std::move(made.key_pem),
                  std::move(made.csr_pem)};
  // The request counts as complete once its CSR exists. With --force, the machine's present
  // identity stays as it is until the controller has admitted it.
  RETURN_IF_ERROR(files.Remove(paths.JoinRequest(), false));
  RETURN_IF_ERROR(WriteSecret(files, paths.JoinUuid(), request.uuid + "\n"));
  RETURN_IF_ERROR(WriteSecret(files, paths.JoinKey(), request.key_pem));
  RETURN_IF_ERROR(WriteSecret(files, paths.JoinRequest(), request.csr_pem));
  return request;
}

// The join is over, one way or the other: the next one starts anew.
absl::Status ForgetRequest(const Paths& paths, sys::FileSystem& files) {
  RETURN_IF_ERROR(files.Remove(paths.JoinRequest(), false));
  RETURN_IF_ERROR(files.Remove(paths.JoinKey(), false));
  return files.Remove(paths.JoinUuid(), false);
}

class EnrollmentClient {
 public:
  EnrollmentClient(const JoinOptions& options, std::string ca_pem, Clock& clock)
      : options_(options),
        ca_pem_(std::move(ca_pem)),
        clock_(clock),
        token_(options.token),
        stub_(v1::EnrollmentService::NewStub(OpenEnrollmentChannel(options.enrollment, ca_pem_))) {}

  // Asks for a token, which this client then has, and with a TPM opens it. Returns the uuid to
  // enroll with; "": any.
  absl::StatusOr<std::string> RequestToken() {
    v1::RequestTokenRequest request;
    request.set_node_name(options_.node_name);
    pki::EndorsementKey key;
    if (options_.tpm != nullptr) {
      ASSIGN_OR_RETURN(Tpm::Proof proof, options_.tpm->Prove());
      ASSIGN_OR_RETURN(key, pki::ParseEndorsementKey(proof.endorsement_key_pem));
      request.set_endorsement_key_pem(key.public_pem);
      request.set_key_name(std::move(proof.key_name));
    }
    ASSIGN_OR_RETURN(
        const v1::RequestTokenResponse response,
        options_.tpm == nullptr ? RequestTokenAsRoot(request) : RequestTokenBy(*stub_, request));
    token_ = response.token();
    if (options_.tpm == nullptr) return response.node_uuid();
    ASSIGN_OR_RETURN(const std::string secret, options_.tpm->Open(response.sealed_token()));
    token_ = absl::BytesToHexString(secret);
    return pki::MachineUuid(key.sha256, options_.node_name);
  }

  absl::StatusOr<v1::EnrollResponse> Enroll(const std::string& uuid, const std::string& csr_pem) {
    v1::EnrollRequest request;
    request.set_token(token_);
    request.set_node_name(options_.node_name);
    request.set_csr_pem(csr_pem);
    request.set_node_uuid(uuid);
    request.set_description(options_.description);
    v1::EnrollResponse response;
    const std::unique_ptr<grpc::ClientContext> context = NewContext();
    RETURN_IF_ERROR(Annotate(FromGrpc(stub_->Enroll(context.get(), request, &response)),
                             absl::StrCat("enrolling at ", options_.enrollment)));
    return response;
  }

  absl::StatusOr<v1::EnrollResponse> Ask(const std::string& enrollment_id) {
    v1::GetEnrollmentRequest request;
    request.set_enrollment_id(enrollment_id);
    request.set_token(token_);
    v1::EnrollResponse response;
    const std::unique_ptr<grpc::ClientContext> context = NewContext();
    RETURN_IF_ERROR(FromGrpc(stub_->GetEnrollment(context.get(), request, &response)));
    return response;
  }

 private:
  using Stub = v1::EnrollmentService::Stub;

  absl::StatusOr<v1::RequestTokenResponse> RequestTokenBy(Stub& stub,
                                                          const v1::RequestTokenRequest& request) {
    v1::RequestTokenResponse response;
    const std::unique_ptr<grpc::ClientContext> context = NewContext();
    RETURN_IF_ERROR(Annotate(FromGrpc(stub.RequestToken(context.get(), request, &response)),
                             absl::StrCat("asking ", options_.enrollment, " for a token")));
    return response;
  }

  // In a network that the inventory trusts the machine is the node by its MAC address, and so are
  // all of its users: the controller listens only to root.
  absl::StatusOr<v1::RequestTokenResponse> RequestTokenAsRoot(
      const v1::RequestTokenRequest& request) {
    ASSIGN_OR_RETURN(const HostPort to, SplitHostPort(options_.enrollment));
    ASSIGN_OR_RETURN(const std::unique_ptr<ReservedPortRelay> relay, ReservedPortRelay::Open(to));
    const std::unique_ptr<Stub> stub =
        v1::EnrollmentService::NewStub(OpenEnrollmentChannel(relay->target(), ca_pem_, to.host));
    return RequestTokenBy(*stub, request);
  }

  std::unique_ptr<grpc::ClientContext> NewContext() {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(absl::ToChronoTime(clock_.Now() + kJoinTimeout));
    return context;
  }

  const JoinOptions& options_;
  const std::string ca_pem_;
  Clock& clock_;
  std::string token_;
  const std::unique_ptr<Stub> stub_;
};

// Whether the same question may have an answer a little later: the controller is away for a while,
// or others have asked too often from this machine's network.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

// Asks until the administrator has decided.
absl::StatusOr<v1::EnrollResponse> AwaitDecision(
    EnrollmentClient& client, v1::EnrollResponse response, const JoinOptions& options,
    const std::string& csr_pem, Clock& clock, const std::function<void(absl::string_view)>& say) {
  const std::string id = response.enrollment_id();
  if (response.state() == v1::ENROLLMENT_STATE_PENDING) {
    ASSIGN_OR_RETURN(const pki::Csr csr, pki::ParseCsr(csr_pem));
    say(absl::StrCat("the key of this machine: ", pki::KeyFingerprint(csr.public_key_sha256)));
    say(absl::StrCat("waiting for approval: run `muster node approve ", options.node_name,
                     "` on the controller, and compare the key that it shows"));
  }
  while (response.state() == v1::ENROLLMENT_STATE_PENDING) {
    const absl::Duration asked = ToDuration(response.retry_after());
    clock.Sleep(std::clamp(asked, absl::Seconds(1), absl::Minutes(1)));
    absl::StatusOr<v1::EnrollResponse> next = client.Ask(id);
    if (next.ok()) {
      response = *std::move(next);
    } else if (!IsPassing(next.status())) {
      return Annotate(next.status(), "asking for the approval");
    }
  }
  return response;
}

}  // namespace

absl::Status Join(const JoinOptions& options, const Paths& paths, sys::FileSystem& files,
                  Clock& clock, const std::function<void(absl::string_view)>& say) {
  if (const absl::StatusOr<Identity> present = LoadIdentity(paths, files); present.ok())
    RETURN_IF_ERROR(CheckClock(present->certificate_pem, "its certificate", clock.Now()));
  std::string machine;
  if (!options.force) {
    ASSIGN_OR_RETURN(machine, FindExpired(options, paths, files, clock.Now()));
  }
  ASSIGN_OR_RETURN(const std::string pinned_ca,
                   FetchPinnedCa(options.enrollment, options.ca_pin, kHandshakeTimeout));
  RETURN_IF_ERROR(CheckClock(pinned_ca, "the controller's authority", clock.Now()));
  EnrollmentClient client(options, pinned_ca, clock);
  const bool asks_itself = options.token.empty();
  if (asks_itself) {
    ASSIGN_OR_RETURN(machine, client.RequestToken());
  }
  ASSIGN_OR_RETURN(Request request, MakeRequest(options, paths, files, machine));
  absl::StatusOr<v1::EnrollResponse> enrolled = client.Enroll(request.uuid, request.csr_pem);
  // The controller does not take this machine for that of an earlier join or membership, which was
  // removed meanwhile, or is another node. The token is still good.
  const bool is_returning = !asks_itself && !machine.empty();
  if (absl::IsFailedPrecondition(enrolled.status()) &&
      (request.is_of_earlier_join || is_returning)) {
    RETURN_IF_ERROR(ForgetRequest(paths, files));
    ASSIGN_OR_RETURN(request, MakeRequest(options, paths, files, asks_itself ? machine : ""));
    enrolled = client.Enroll(request.uuid, request.csr_pem);
  }
  ASSIGN_OR_RETURN(v1::EnrollResponse response, std::move(enrolled));
  absl::StatusOr<v1::EnrollResponse> decided =
      AwaitDecision(client, std::move(response), options, request.csr_pem, clock, say);
  // This request will never give a certificate: the next join makes another.
  if (absl::IsPermissionDenied(decided.status())) RETURN_IF_ERROR(ForgetRequest(paths, files));
  ASSIGN_OR_RETURN(response, std::move(decided));
  if (response.state() != v1::ENROLLMENT_STATE_APPROVED) {
    RETURN_IF_ERROR(ForgetRequest(paths, files));
    return absl::PermissionDeniedError(
        absl::StrCat("the administrator rejected ", options.node_name, "; see `muster node list`"));
  }
  Identity identity;
  identity.node_uuid = request.uuid;
  identity.node_name = options.node_name;
  identity.controller_address = options.controller;
  identity.key_pem = request.key_pem;
  identity.certificate_pem = response.certificate_pem();
  identity.ca_pem = response.ca_pem();
  RETURN_IF_ERROR(
      Annotate(pki::VerifySignedBy(identity.certificate_pem, identity.ca_pem, clock.Now()),
               "the certificate that the controller sent (is this machine's clock right?)"));
  RETURN_IF_ERROR(StoreIdentity(paths, identity, files));
  RETURN_IF_ERROR(ForgetRequest(paths, files));
  say(absl::StrCat("joined as ", options.node_name, " (", identity.node_uuid, ")"));
  return absl::OkStatus();
}

absl::StatusOr<bool> HasJoined(const JoinOptions& options, const Paths& paths,
                               sys::FileSystem& files, Clock& clock) {
  for (int looks = 1;; ++looks) {
    const absl::StatusOr<std::string> expired = FindExpired(options, paths, files, clock.Now());
    const bool has_joined = absl::IsAlreadyExists(expired.status());
    if (!has_joined) RETURN_IF_ERROR(expired.status());
    // A clock that is not set yet hides the end of the certificate, or makes one up.
    const bool is_doubtful = has_joined
                                 ? IsClockBehind(files.Read(paths.ClientCertificate()), clock.Now())
                                 : !expired->empty();
    if (!is_doubtful || looks > kLooksAtClock) return has_joined;
    clock.Sleep(kClockInterval);
  }
}

}  // namespace muster::agent
