// How machines become nodes, and cease to be.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/denylist.h"
#include "controller/enrollment/peer_limiter.h"
#include "controller/enrollment/refusal_log.h"
#include "controller/store/tables.h"

namespace muster {
class Clock;
}
namespace muster::pki {
struct Certificate;
}

namespace muster::controller {

enum class KeyUse;
class Store;
class Transaction;

// Who does something and from where, for the audit log.
struct Actor {
  std::string name;  // "admin:alice", "node:<uuid>"
  std::string peer;
};

struct JoinRequest {
  std::string token;  // in clear; never logged
  std::string node_name;
  std::string node_uuid;
  std::string csr_pem;
  std::string description;
  std::string peer;
};

struct JoinResult {
  enum State { kPending, kApproved, kRejected };
  State state = kPending;
  std::string enrollment_id;    // when pending
  std::string certificate_pem;  // when approved
};

struct NewToken {
  std::string token_id;
  std::string node_name;
  std::string token;  // in clear, shown once
  absl::Time expires_at;
};

// The rules of enrolment over the store. Every act is one transaction and one entry of the audit
// log. Thread-safe; methods block for a transaction of the store.
//
// A machine is known by its random uuid, a node's name by the inventory. A name belongs to one
// machine at a time: a machine that enrols under a taken name needs a token of its own, and then
// the machine before it is removed and its certificates are denied.
class Enrollment {
 public:
  static constexpr absl::Duration kDefaultTtl = absl::Hours(1);
  static constexpr absl::Duration kMaxTtl = absl::Hours(24 * 7);
  static constexpr size_t kMaxTokensPerCall = 10'000;

  struct Hooks {
    // Whether the inventory has the name. Called outside transactions; may use the store.
    std::function<bool(absl::string_view node_name)> is_known_name;
    // A node's certificates were denied; its sessions must end with `words`. Called outside
    // transactions.
    std::function<void(absl::string_view node_uuid, absl::string_view words)> on_denied;
  };

  // All references must outlive the object.
  Enrollment(Store& store, const CertificateAuthority& ca, Denylist& denylist, Clock& clock,
             Hooks hooks);

  // Issues one token for each name. Errors: InvalidArgument (ttl out of bounds, bad or unknown
  // name: then none is issued).
  absl::StatusOr<std::vector<NewToken>> CreateTokens(const std::vector<std::string>& node_names,
                                                     absl::Duration ttl, bool require_approval,
                                                     const Actor& actor);
  absl::StatusOr<std::vector<TokenRecord>> ListTokens();
  // NotFound; FailedPrecondition when it was used already.
  absl::Status RevokeToken(absl::string_view token_id, const Actor& actor);

  // A machine presents a token and a CSR. A stranger learns nothing from a refusal: every bad
  // token is the same PermissionDenied, and the audit log has the reason. The same request with
  // the same token and CSR again gives the same answer, for a machine whose answer got lost.
  // Further errors: InvalidArgument (malformed), FailedPrecondition (token is good, but the uuid
  // is taken or the name left the inventory), ResourceExhausted (too many failures from the peer).
  absl::StatusOr<JoinResult> Join(const JoinRequest& request);
  // What became of a pending enrolment; only who holds its token is told. A machine that comes late
  // for its certificate gets a fresh one until its token ends, and only before it has connected;
  // after that, the one of the approval and no other.
  absl::StatusOr<JoinResult> GetJoin(absl::string_view enrollment_id, absl::string_view token,
                                     absl::string_view peer);

  // Machines that wait for approval.
  absl::StatusOr<std::vector<EnrollmentRecord>> ListPending();
  // Lets the machines that wait under the names in. `fingerprints`, by name, are those of the keys
  // that the administrator has seen; a name that is not among them is let in by its name alone.
  // NotFound: nothing waits under a name, and FailedPrecondition: several do, or one with another
  // key; nobody is let in then.
  absl::Status Approve(const std::vector<std::string>& node_names,
                       const std::map<std::string, std::string>& fingerprints, const Actor& actor);
  // Ends the names' enrolments: machines are removed, certificates denied, waiting machines
  // rejected, open tokens revoked. NotFound: a name has none of these; nothing is removed then.
  absl::Status Remove(const std::vector<std::string>& node_names, absl::string_view reason,
                      const Actor& actor);

  // A machine shows its certificate: a session begins. PermissionDenied: it is no member any more,
  // or shows a certificate after a later one of its node was used, which is a copied key (see
  // key_line.h). Then the node is locked, all of its certificates are denied, and the audit log
  // names both sides. True: the certificate is behind the authority, the node is to renew it.
  absl::StatusOr<bool> UseKey(absl::string_view node_uuid, absl::string_view shown_pem,
                              const Actor& actor);
  // As UseKey(), for a call beside the session, which may still be on the old connection when the
  // new one is used: Unavailable then, and nothing more.
  absl::Status CheckKey(absl::string_view node_uuid, absl::string_view serial);
  // A new certificate for an enrolled node that shows `current_pem` on its connection; the CSR's
  // key must be another. The current certificate is over when the new one is used first. Errors as
  // those of UseKey().
  absl::StatusOr<std::string> Renew(absl::string_view node_uuid, absl::string_view current_pem,
                                    absl::string_view csr_pem, const Actor& actor);

 private:
  struct Denied {
    std::string node_uuid;
    std::string words;  // for its sessions
  };

  struct Shown {
    KeyUse use;
    bool is_behind;
  };

  absl::StatusOr<Shown> Judge(absl::string_view node_uuid, absl::string_view serial);
  absl::StatusOr<JoinResult> JoinIn(Transaction& txn, const JoinRequest& request, bool known_name,
                                    absl::Time now, std::vector<Denied>* denied);
  // Makes the enrolment's machine the node of its name and signs its CSR.
  absl::Status Admit(Transaction& txn, EnrollmentRecord& enrollment, const Actor& actor,
                     absl::Time now, std::vector<Denied>* denied);
  absl::Status RemoveMachine(Transaction& txn, NodeRecord node, absl::string_view reason,
                             absl::Time now, std::vector<Denied>* denied);
  // The newest generation of the node's certificates. When the key is a copy the node is locked and
  // `denied`; the transaction is to be committed with that.
  absl::StatusOr<uint64_t> UseKeyIn(Transaction& txn, absl::string_view node_uuid,
                                    const pki::Certificate& shown, bool may_adopt,
                                    const Actor& actor, absl::Time now,
                                    std::vector<Denied>* denied);
  // After a transaction that denied certificates.
  void Enforce(const std::vector<Denied>& denied);
  // The enrolment with a certificate that is still of use to its machine.
  absl::StatusOr<EnrollmentRecord> Refresh(Transaction& txn, EnrollmentRecord enrollment,
                                           absl::string_view peer, absl::Time now);
  // Counts and logs a refused attempt and says to the caller only what it may know.
  absl::Status Refuse(absl::string_view peer, absl::string_view subject, const absl::Status& reason,
                      absl::Time now);

  Store& store_;
  const CertificateAuthority& ca_;
  Denylist& denylist_;
  Clock& clock_;
  const Hooks hooks_;
  PeerLimiter limiter_;
  RefusalLog refusals_;
};

// Whether the machine waits for approval.
bool IsWaiting(const EnrollmentRecord& enrollment);

// What names the key of a machine that waits, here and on its own console.
std::string FingerprintOf(const EnrollmentRecord& enrollment);

}  // namespace muster::controller
