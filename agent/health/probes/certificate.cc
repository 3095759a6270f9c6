// This node's certificate, which the agent renews after half a day: whether it could. A controller
// that is away lets nobody renew, and is no fault of the node.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/facts/sysfs.h"
#include "agent/health/probes/probe.h"
#include "agent/health/renewal_trouble.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"

namespace muster::agent::health {
namespace {

constexpr char kRenewal[] = "certificate_renewal";
// Three times as long as a renewal that succeeds takes to come.
constexpr absl::Duration kLongestUse = absl::Hours(36);

std::string Minute(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

class CertificateProbe final : public Probe {
 public:
  explicit CertificateProbe(const ProbeContext& context)
      : path_(absl::StrCat(context.root, context.state_directory, "/client.crt")),
        clock_(*context.clock),
        trouble_(*context.renewal) {}

  absl::StatusOr<Findings> Look(const muster::health::Limits&) override {
    Findings findings;
    const absl::StatusOr<std::string> pem = ReadText(path_);
    if (absl::IsNotFound(pem.status())) {
      findings.not_watched = {kRenewal};
      return findings;
    }
    RETURN_IF_ERROR(pem.status());
    ASSIGN_OR_RETURN(const pki::Certificate own, pki::ParseCertificate(*pem));
    const absl::Duration life = own.not_after - own.not_before;
    if (clock_.Now() - own.not_before < std::min(kLongestUse, life * 3 / 4)) return findings;
    const std::string since =
        absl::StrCat(" since ", Minute(own.not_before), "; it expires on ", Minute(own.not_after));
    const std::string why = trouble_.Get();
    if (why.empty()) {
      findings.Unknown(kRenewal, "",
                       absl::StrCat("the certificate was not renewed", since,
                                    ": the agent waits for the controller"));
    } else {
      findings.Bad(kRenewal, "",
                   absl::StrCat("the certificate could not be renewed", since, ": ", why));
    }
    return findings;
  }

 private:
  const std::string path_;
  Clock& clock_;
  const RenewalTrouble& trouble_;
};

}  // namespace

std::unique_ptr<Probe> MakeCertificateProbe(const ProbeContext& context) {
  return std::make_unique<CertificateProbe>(context);
}

}  // namespace muster::agent::health
