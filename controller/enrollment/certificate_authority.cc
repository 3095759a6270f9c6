#include "controller/enrollment/certificate_authority.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"

namespace muster::controller {
namespace {

// The CA's key is the cluster: refuse to work with one that others may read or write. The group may
// read it, because the service's account does not own the file.
absl::Status CheckMode(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  if ((info.st_mode & 0037) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s has mode %04o: other users can read the CA's key; run `chmod 0600 %s`",
                      path, info.st_mode & 07777, path));
}

}  // namespace

absl::StatusOr<CertificateAuthority> CertificateAuthority::Load(const std::string& folder) {
  const std::string key_path = absl::StrCat(folder, "/ca.key");
  RETURN_IF_ERROR(CheckMode(key_path));
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(const std::string roots_pem, files.Read(absl::StrCat(folder, "/ca.crt")));
  ASSIGN_OR_RETURN(std::string key, files.Read(key_path));
  absl::StatusOr<CertificateAuthority> ca = Create(roots_pem, std::move(key));
  if (!ca.ok()) return Annotate(ca.status(), absl::StrCat("the CA in ", folder));
  return ca;
}

absl::StatusOr<CertificateAuthority> CertificateAuthority::Create(absl::string_view roots_pem,
                                                                  std::string key) {
  ASSIGN_OR_RETURN(const std::vector<std::string> all, pki::SplitCertificates(roots_pem));
  ASSIGN_OR_RETURN(const size_t signer, pki::RootOf(all, key));
  pki::Authority authority{all[signer], std::move(key)};
  ASSIGN_OR_RETURN(std::string pin, pki::Sha256Pin(authority.certificate_pem));
  ASSIGN_OR_RETURN(const pki::Certificate own, pki::ParseCertificate(authority.certificate_pem));
  ASSIGN_OR_RETURN(std::vector<std::string> pins, pki::Pins(roots_pem));
  std::sort(pins.begin(), pins.end());
  Roots roots{absl::StrJoin(all, ""), Sha256Hex(absl::StrJoin(pins, ",")), all.size()};
  return CertificateAuthority(std::move(authority), std::move(roots), std::move(pin),
                              own.not_after);
}

bool CertificateAuthority::MayAdopt(absl::string_view pem) const {
  return roots_.count == 1 || pki::IssuerOf(pem, authority_.certificate_pem).ok();
}

bool CertificateAuthority::IsBehind(const CertificateRecord& certificate) const {
  return certificate.signed_by != pin_ || certificate.roots != roots_.digest;
}

absl::StatusOr<IssuedCertificate> CertificateAuthority::IssueNode(absl::string_view csr_pem,
                                                                  absl::string_view uuid,
                                                                  absl::string_view node_name,
                                                                  absl::Time now) const {
  ASSIGN_OR_RETURN(IssuedCertificate issued,
                   Issue(csr_pem, Role::kNode, uuid, node_name, now, now + kNodeLifetime));
  issued.record.node_uuid = std::string(uuid);
  return issued;
}

absl::StatusOr<IssuedCertificate> CertificateAuthority::IssueUser(absl::string_view csr_pem,
                                                                  absl::string_view user, Role role,
                                                                  absl::Time now,
                                                                  absl::Time not_after) const {
  ASSIGN_OR_RETURN(IssuedCertificate issued, Issue(csr_pem, role, user, user, now, not_after));
  issued.record.user = std::string(user);
  return issued;
}

absl::StatusOr<IssuedCertificate> CertificateAuthority::Issue(absl::string_view csr_pem, Role role,
                                                              absl::string_view name,
                                                              absl::string_view common_name,
                                                              absl::Time now,
                                                              absl::Time not_after) const {
  const pki::Subject subject = {.common_name = std::string(common_name),
                                .organization = OrganizationOf(role),
                                .uri_sans = {IdentityUri(role, name)}};
  IssuedCertificate issued;
  ASSIGN_OR_RETURN(issued.pem,
                   pki::SignCsr(authority_, csr_pem, subject, {now - pki::kBackdating, not_after},
                                pki::Usage::kClient));
  ASSIGN_OR_RETURN(const pki::Certificate made, pki::ParseCertificate(issued.pem));
  issued.record.serial = made.serial;
  issued.record.role = std::string(RoleName(role));
  issued.record.not_before = made.not_before;
  issued.record.not_after = made.not_after;
  issued.record.authority_ends = ends_at_;
  issued.record.signed_by = pin_;
  issued.record.roots = roots_.digest;
  return issued;
}

}  // namespace muster::controller
