// How machines become nodes and cease to be nodes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/audit/audit.h"
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

struct JoinRequest {
  std::string token;  // in plain text; never logged
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
  std::string token;  // in plain text, shown once
  absl::Time expires_at;
};

// The rules of enrollment over the store. Every action is one transaction and one entry of the
// audit log. Thread-safe; methods block for a transaction of the store.
//
// A machine is identified by its random uuid, a node's name comes from the inventory. A name
// belongs to one machine at a time: a machine that enrolls under a name that is taken needs a token
// of its own; the previous machine is then removed and its certificates are denied. A machine whose
// certificates have all expired joins again by a token as the one that it was. One that proves
// itself by its TPM (see TokenRequests) has the uuid that follows from that: it joins again after
// each boot, as the same machine, and what it was certified before is denied.
class Enrollment {
 public:
  static constexpr absl::Duration kDefaultTtl = absl::Hours(1);
  static constexpr absl::Duration kMaxTtl = absl::Hours(24 * 7);
  static constexpr size_t kMaxTokensPerCall = 10'000;

  struct Hooks {
    // Whether the inventory has the name. Called outside transactions; may use the store.
    std::function<bool(absl::string_view node_name)> is_known_name;
    // A node's certificates were denied; its sessions must end with the message `words`. Called
    // outside transactions.
    std::function<void(absl::string_view node_uuid, absl::string_view words)> on_denied;
  };

  // All references must outlive the object.
  Enrollment(Store& store, const CertificateAuthority& ca, Denylist& denylist, Clock& clock,
             Hooks hooks);

  // Issues one token for each name. Errors: InvalidArgument (ttl out of bounds, bad or unknown
  // name; no token is issued then).
  absl::StatusOr<std::vector<NewToken>> CreateTokens(const std::vector<std::string>& node_names,
                                                     absl::Duration ttl, bool require_approval,
                                                     const Actor& actor);
  absl::StatusOr<std::vector<TokenRecord>> ListTokens();
  // NotFound; FailedPrecondition when it has been used already.
  absl::Status RevokeToken(absl::string_view token_id, const Actor& actor);

  // A machine presents a token and a CSR. A stranger learns nothing from a refusal: every bad token
  // gives the same PermissionDenied, and the reason goes to the audit log. Repeating a request with
  // the same CSR gives the same answer, for a machine that never received it: with the same token
  // until that expires, and with another one for the node until the machine has connected. Further
  // errors: InvalidArgument (malformed), FailedPrecondition (the token is good, but the uuid is
  // taken or the name has left the inventory), ResourceExhausted (too many failures from the peer).
  absl::StatusOr<JoinResult> Join(const JoinRequest& request);
  // The outcome of a pending enrollment; given only to the holder of its token. However late the
  // machine asks, it gets the certificate that was signed at approval, until that expires.
  absl::StatusOr<JoinResult> GetJoin(absl::string_view enrollment_id, absl::string_view token,
                                     absl::string_view peer);

  // Machines that wait for approval.
  absl::StatusOr<std::vector<EnrollmentRecord>> ListPending();
  // Admits the machines that wait under the names. `fingerprints`, by name, are those of the keys
  // that the administrator has seen; a name without one is admitted by its name alone. NotFound:
  // nothing waits under a name. FailedPrecondition: several machines do, or one with another key.
  // On an error nobody is admitted.
  absl::Status Approve(const std::vector<std::string>& node_names,
                       const std::map<std::string, std::string>& fingerprints, const Actor& actor);
  // Ends the names' enrollments: removes machines, denies certificates, rejects waiting machines,
  // revokes open tokens and forgets what is on the disks. NotFound: a name has none of these;
  // nothing is removed then.
  absl::Status Remove(const std::vector<std::string>& node_names, absl::string_view reason,
                      const Actor& actor);

  // A machine shows its certificate at the start of a session. PermissionDenied: it is not a member
  // any more, or it shows a certificate after a later one of its node was used, which means that a
  // key was copied (see key_line.h). Then the node is locked, all of its certificates are denied,
  // and the audit log names both sides. True: the certificate is behind the authority, and the node
  // has to renew it. `serial` is that of `shown_pem`, which is parsed only when there is news in
  // it: thousands connect at once after a restart.
  absl::StatusOr<bool> UseKey(absl::string_view node_uuid, absl::string_view serial,
                              absl::string_view shown_pem, const Actor& actor);
  // As UseKey(), for a call beside the session, which may still be on the old connection when the
  // new certificate is used: then it only returns Unavailable.
  absl::Status CheckKey(absl::string_view node_uuid, absl::string_view serial);
  // Issues a new certificate for an enrolled node that shows `current_pem` on its connection; the
  // CSR must have another key. The current certificate becomes invalid when the new one is first
  // used. Errors as for UseKey().
  absl::StatusOr<std::string> Renew(absl::string_view node_uuid, absl::string_view current_pem,
                                    absl::string_view csr_pem, const Actor& actor);

 private:
  struct Denied {
    std::string node_uuid;
    std::string words;  // the message for its sessions
  };

  struct Shown {
    KeyUse use;
    bool is_behind;
  };

  absl::StatusOr<Shown> Judge(absl::string_view node_uuid, absl::string_view serial);
  absl::StatusOr<JoinResult> JoinIn(Transaction& txn, const JoinRequest& request, bool known_name,
                                    absl::Time now, std::vector<Denied>* denied);
  // Takes the machine's enrollments of earlier boots under the same name out of the store and of
  // `related`. False: one of them waits, and is in the audit log. ResourceExhausted: too many
  // others wait.
  absl::StatusOr<bool> MakeRoom(Transaction& txn, const TokenRecord& token, absl::string_view peer,
                                absl::Time now, std::vector<EnrollmentRecord>* related);
  // Makes the enrollment's machine the node of its name and signs its CSR.
  absl::Status Admit(Transaction& txn, EnrollmentRecord& enrollment, const Actor& actor,
                     absl::Time now, std::vector<Denied>* denied);
  absl::Status RemoveMachine(Transaction& txn, NodeRecord node, absl::string_view reason,
                             absl::Time now, std::vector<Denied>* denied);
  // Returns the newest generation of the node's certificates. When the key is a copy, locks the
  // node and adds to `denied`; the transaction is to be committed with that.
  absl::StatusOr<uint64_t> UseKeyIn(Transaction& txn, absl::string_view node_uuid,
                                    const pki::Certificate& shown, bool may_adopt,
                                    const Actor& actor, absl::Time now,
                                    std::vector<Denied>* denied);
  // Called after a transaction that denied certificates.
  void Enforce(const std::vector<Denied>& denied);
  // Counts and logs a refused attempt, and returns only what the caller may know.
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

// ", TPM …" where it has proved itself by one; "": it has not.
std::string WithTpm(const EnrollmentRecord& enrollment);

// The fingerprint of a waiting machine's key, as shown here and on the machine's own console.
std::string FingerprintOf(const EnrollmentRecord& enrollment);

}  // namespace muster::controller
