// Tokens that machines ask for themselves: those that boot from the network, where nobody can give
// them one, and whatever a script or an image had for them everybody there could read.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/text/ip_network.h"
#include "controller/enrollment/peer_limiter.h"
#include "controller/enrollment/refusal_log.h"

namespace muster {
class Clock;
}
namespace muster::pki {
struct EndorsementKey;
}

namespace muster::controller {

class Store;
class Transaction;
struct TokenRecord;

struct TokenRequest {
  std::string node_name;
  std::string endorsement_key_pem;  // public; "": the machine has no TPM
  std::string key_name;             // the TPM's name of a key that it has loaded, 34 bytes
  std::string peer;
};

// The token, or what it is sealed in.
struct RequestedToken {
  std::string token;      // in plain text, good for an enrollment that waits for approval
  std::string sealed;     // for the machine's TPM alone; what is in it, in hex, is the token
  std::string node_uuid;  // beside `token`: to enroll with, and without an approval; "": any
};

// A token that was sealed for a TPM proves to Enrollment which machine has opened it. It needs no
// approval where the inventory names the TPM, or where an administrator has approved the machine
// before, under the same name. In a network that the inventory trusts a machine counts as the node
// whose MAC address it has, see trusted_network.h. Any other waits for `muster node approve`.
// Thread-safe; a call blocks for a transaction of the store and for the sealing, one at a time.
class TokenRequests {
 public:
  static constexpr absl::Duration kTtl = absl::Minutes(10);
  // The most tokens that are open at once and would need an approval, of one name and of all, each
  // address having one. The TPM that is known for a name gets one whatever is open: it has as many,
  // and the oldest makes room.
  static constexpr size_t kMaxOfName = 4;
  static constexpr size_t kMaxOfAll = 4096;

  // What the inventory says of a node; see SelfJoin there.
  struct Rule {
    bool may_ask = false;
    bool needs_tpm = false;
    std::string endorsement_key;  // SHA-256; "": any
    std::vector<std::string> macs;
    std::vector<IpNetwork> trusted_networks;
  };
  struct Hooks {
    // A node that is unknown may not ask. Called outside transactions; may use the store.
    std::function<Rule(absl::string_view node_name)> rule_of;
    // As SealToken().
    std::function<absl::StatusOr<std::string>(const pki::EndorsementKey& key,
                                              absl::string_view key_name, absl::string_view secret)>
        seal;
    // Of a neighbor's address; "": it is none. Called outside transactions.
    std::function<std::string(absl::string_view address)> mac_of;
    // Whether a machine has a session.
    std::function<bool(absl::string_view node_uuid)> is_connected;
  };

  // The references must outlive the object.
  TokenRequests(Store& store, Clock& clock, Hooks hooks);

  // PermissionDenied: the inventory does not have machines ask for this name, or has it for another
  // TPM; strangers do not learn which. InvalidArgument: not a key, or not a name.
  // ResourceExhausted: too many ask. FailedPrecondition: nothing can be sealed here.
  absl::StatusOr<RequestedToken> Request(const TokenRequest& request);

 private:
  // Whether the machine needs no approval, and as which machine it counts. `mac` as of mac_of.
  absl::Status Recognize(Transaction& txn, const TokenRequest& request, const Rule& rule,
                         absl::string_view mac, TokenRecord& record, absl::Time now);
  // Whether it counts as the node by its MAC address.
  absl::StatusOr<bool> IsOfNetwork(Transaction& txn, const TokenRequest& request, const Rule& rule,
                                   absl::string_view mac, const TokenRecord& record,
                                   absl::Time now);
  static absl::Status Keep(Transaction& txn, const TokenRecord& record, absl::Time now);
  // Writes into the audit log what a stranger did, unless it has an entry of this hour.
  absl::Status Note(Transaction& txn, const TokenRequest& request, absl::string_view action,
                    absl::string_view why, absl::Time now);
  absl::Status Refuse(const TokenRequest& request, const absl::Status& why, absl::Time now);

  Store& store_;
  Clock& clock_;
  const Hooks hooks_;
  absl::Mutex sealing_;
  PeerLimiter limiter_;
  RefusalLog refusals_;
};

}  // namespace muster::controller
