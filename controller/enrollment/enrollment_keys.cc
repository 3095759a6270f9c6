// Nodes' keys: used, renewed, and found in two places.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/peer.h"
#include "common/pki/certificate.h"
#include "common/pki/key.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/key_line.h"
#include "controller/store/store.h"

namespace muster::controller {
namespace {

std::string At(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace

absl::StatusOr<Enrollment::Shown> Enrollment::Judge(absl::string_view node_uuid,
                                                    absl::string_view serial) {
  Shown shown{KeyUse::kKnown, true};
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(CheckMember(txn.nodes().Get(node_uuid)));
    ASSIGN_OR_RETURN(const std::vector<CertificateRecord> line,
                     txn.certificates().ListByNode(node_uuid));
    shown.use = JudgeKey(line, serial);
    for (const CertificateRecord& each : line) {
      if (each.serial == serial) shown.is_behind = ca_.IsBehind(each);
    }
    return absl::OkStatus();
  }));
  return shown;
}

absl::Status Enrollment::CheckKey(absl::string_view node_uuid, absl::string_view serial) {
  ASSIGN_OR_RETURN(const Shown shown, Judge(node_uuid, serial));
  if (shown.use != KeyUse::kCopied) return absl::OkStatus();
  return absl::UnavailableError("this certificate was renewed; connect with the new one");
}

absl::StatusOr<bool> Enrollment::UseKey(absl::string_view node_uuid, absl::string_view serial,
                                        absl::string_view shown_pem, const Actor& actor) {
  ASSIGN_OR_RETURN(const Shown shown, Judge(node_uuid, serial));
  if (shown.use == KeyUse::kKnown) return shown.is_behind;
  ASSIGN_OR_RETURN(const pki::Certificate certificate, pki::ParseCertificate(shown_pem));
  std::vector<Denied> denied;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return UseKeyIn(txn, node_uuid, certificate, ca_.MayAdopt(shown_pem), actor, clock_.Now(),
                    &denied)
        .status();
  }));
  if (denied.empty()) return shown.is_behind;
  Enforce(denied);
  return KeyCopied();
}

absl::StatusOr<uint64_t> Enrollment::UseKeyIn(Transaction& txn, absl::string_view node_uuid,
                                              const pki::Certificate& shown, bool may_adopt,
                                              const Actor& actor, absl::Time now,
                                              std::vector<Denied>* denied) {
  const absl::StatusOr<NodeRecord> found = txn.nodes().Get(node_uuid);
  RETURN_IF_ERROR(CheckMember(found));
  NodeRecord node = *found;
  ASSIGN_OR_RETURN(const std::vector<CertificateRecord> line,
                   txn.certificates().ListByNode(node_uuid));
  const uint64_t newest = NewestGeneration(line);
  switch (JudgeKey(line, shown.serial)) {
    case KeyUse::kKnown:
      break;
    case KeyUse::kFirst:
      RETURN_IF_ERROR(txn.certificates().MarkUsed(shown.serial, now, actor.peer));
      break;
    case KeyUse::kForgotten: {
      if (!may_adopt) {
        return absl::PermissionDeniedError(
            "the store does not know this certificate of the earlier authority; unknown "
            "certificates are not adopted while the authority changes: make a token and join with "
            "--force");
      }
      CertificateRecord record;
      record.serial = shown.serial;
      record.node_uuid = node.uuid;
      record.role = std::string(RoleName(Role::kNode));
      record.not_before = shown.not_before;
      record.not_after = shown.not_after;
      record.authority_ends = ca_.ends_at();
      record.generation = newest + 1;
      RETURN_IF_ERROR(txn.certificates().Insert(record));
      RETURN_IF_ERROR(txn.certificates().MarkUsed(shown.serial, now, actor.peer));
      RETURN_IF_ERROR(Audit(txn, now, actor, "node.adopt", node.name,
                            absl::StrCat("certificate ", shown.serial,
                                         " is from our authority but not in the store, which is "
                                         "older: taken as the node's newest")));
      return newest + 1;
    }
    case KeyUse::kCopied: {
      const CertificateRecord& used = *NewestUsed(line);
      const std::string one = PeerAddress(used.used_from), other = PeerAddress(actor.peer);
      node.locked_because = absl::StrCat("its key is in two places: ", one, " (since ",
                                         At(*used.used_at), ") and ", other, " (", At(now), ")");
      RETURN_IF_ERROR(txn.nodes().Put(node));
      RETURN_IF_ERROR(txn.certificates().RevokeByNode(node.uuid, now));
      RETURN_IF_ERROR(
          Audit(txn, now, actor, "node.key_copied", node.name,
                absl::StrCat(other, " shows certificate ", shown.serial, ", after ", one,
                             " used its successor ", used.serial, " at ", At(*used.used_at),
                             "; both are denied, and the node is locked")));
      denied->push_back({node.uuid, std::string(KeyCopied().message())});
      break;
    }
  }
  return newest;
}

absl::StatusOr<std::string> Enrollment::Renew(absl::string_view node_uuid,
                                              absl::string_view current_pem,
                                              absl::string_view csr_pem, const Actor& actor) {
  ASSIGN_OR_RETURN(const pki::Csr csr, pki::ParseCsr(csr_pem));
  ASSIGN_OR_RETURN(const pki::Certificate current, pki::ParseCertificate(current_pem));
  if (csr.public_key_sha256 == current.public_key_sha256)
    return absl::InvalidArgumentError("a renewal needs a new key; the CSR has the one in use");
  const absl::Time now = clock_.Now();
  std::string certificate_pem;
  std::vector<Denied> denied;
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(
        const uint64_t newest,
        UseKeyIn(txn, node_uuid, current, ca_.MayAdopt(current_pem), actor, now, &denied));
    if (!denied.empty()) return absl::OkStatus();  // committed: the lock must persist
    ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get(node_uuid));
    ASSIGN_OR_RETURN(const std::vector<CertificateRecord> earlier,
                     txn.certificates().ListByNode(node_uuid));
    // An agent renews twice a day; each certificate is a row until it has expired.
    RETURN_IF_ERROR(CheckPace(earlier, "this node", now));
    ASSIGN_OR_RETURN(IssuedCertificate issued, ca_.IssueNode(csr_pem, node.uuid, node.name, now));
    issued.record.generation = newest + 1;
    RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
    certificate_pem = std::move(issued.pem);
    return Audit(txn, now, actor, "node.renew", node.name,
                 absl::StrCat("certificate ", issued.record.serial));
  }));
  if (denied.empty()) return certificate_pem;
  Enforce(denied);
  return KeyCopied();
}

}  // namespace muster::controller
