#include "agent/session/renewal.h"

#include <algorithm>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/session/channel.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "muster/v1/agent_session.grpc.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kRenewalTimeout = absl::Seconds(10);
// The first use of a renewed certificate ends the one before, and shows who has a copy of that: a
// key in use is not copied unnoticed for much longer than this.
constexpr absl::Duration kRenewAfter = absl::Hours(12);

std::string Second(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<CertificateLife> ReadCertificateLife(const std::string& certificate_pem) {
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(certificate_pem));
  return CertificateLife{certificate.not_before, certificate.not_after};
}

absl::Time RenewAt(const CertificateLife& life, double jitter) {
  const absl::Duration wait = std::min((life.not_after - life.not_before) / 2, kRenewAfter);
  return life.not_before + wait + wait * (jitter / 5);
}

absl::Time RetryRenewAt(const CertificateLife& life, absl::Time now) {
  const absl::Duration rest = life.not_after - now;
  return now + std::clamp(rest / 20, absl::Seconds(15), absl::Minutes(10));
}

absl::Time RetryToldRenewalAt(absl::Time now, double jitter) {
  return now + absl::Seconds(15) + jitter * absl::Seconds(45);
}

std::string ClockRemedy(absl::Time made, absl::Time now, absl::string_view what) {
  if (now >= made) return "";
  return absl::StrCat("this node's clock (", Second(now), ") is before the time at which ", what,
                      " was made (", Second(made),
                      "): set the clock (`chronyc makestep` or `timedatectl set-time`), and check "
                      "that it keeps time across a reboot");
}

std::string ValidityRemedy(const CertificateLife& life, absl::Time now,
                           const std::string& node_name) {
  if (now < life.not_after) return ClockRemedy(life.not_before, now, "its certificate");
  return absl::StrCat("this node's certificate expired ",
                      absl::FormatDuration(absl::Trunc(now - life.not_after, absl::Seconds(1))),
                      " ago by its clock (", Second(now),
                      "); if the clock is right, run `muster node bootstrap --ssh ", node_name,
                      "`, or `muster token create --nodes ", node_name,
                      "` on the controller and paste the line that it prints here");
}

std::string RefusalRemedy(absl::string_view error) {
  struct Remedy {
    absl::string_view part;  // part of gRPC's message
    absl::string_view words;
  };
  static constexpr Remedy kRemedies[] = {
      {"certificate verify failed",
       "first compare this node's clock with the controller's (timedatectl). If it is right, the "
       "controller's certificate has expired (run `muster ca renew-controller` there as root, then "
       "`systemctl restart musterd`), or the controller was set up again (create a token there, "
       "then run `muster-agent join --force` here)"},
      // With TLS 1.3 a server rejects a certificate only after the client considers the handshake
      // done.
      {"Socket closed",
       "the controller closed the connection at once; first compare this node's clock with the "
       "controller's (timedatectl). If it is right and the log there (journalctl -u musterd) shows "
       "that it refused a certificate, make a token there and run `muster-agent join --force`"},
  };
  for (const Remedy& remedy : kRemedies)
    if (absl::StrContains(error, remedy.part)) return std::string(remedy.words);
  return "";
}

absl::Status Renew(const std::shared_ptr<grpc::Channel>& channel, const Identity& identity,
                   const Paths& paths, sys::FileSystem& files, Clock& clock) {
  ASSIGN_OR_RETURN(const pki::KeyAndCsr made, pki::MakeKeyAndCsr(identity.node_name));
  v1::RenewCertificateRequest request;
  request.set_csr_pem(made.csr_pem);
  v1::RenewCertificateResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(clock.Now() + kRenewalTimeout));
  const auto stub = v1::AgentSessionService::NewStub(channel);
  RETURN_IF_ERROR(FromGrpc(stub->RenewCertificate(&context, request, &response)));
  RETURN_IF_ERROR(pki::VerifySignedBy(response.certificate_pem(), response.ca_pem(), clock.Now()));
  return ReplaceCertificate(paths, response.ca_pem(), response.certificate_pem(), made.key_pem,
                            files);
}

}  // namespace muster::agent
