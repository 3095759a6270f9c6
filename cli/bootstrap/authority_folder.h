// The controller's folder of keys (/etc/muster/pki) while its authority changes.
//
// The change has two steps, and between them both roots are trusted. The first step puts the new
// root before the old one; from then on the new key signs, and the controller keeps the certificate
// that peers with only the old root trust. Once everybody has a certificate of the new root, and
// both roots with it, the second step gives the controller a certificate of the new root and drops
// the old one. Every file is replaced whole, in an order that lets the controller start at any
// moment. A note, ca.change, exists from the first write to the end: after an interruption the same
// calls continue the change.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::pki {
struct Authority;
struct Subject;
}  // namespace muster::pki
namespace muster::sys {
class FileSystem;
}

namespace muster::cli {

inline constexpr absl::Duration kCaValidity = absl::Hours(24 * 365 * 20);
// How long the certificate is valid that `muster init` makes for the administrator.
inline constexpr absl::Duration kAdministratorValidity = absl::Hours(24 * 365);
// How long a certificate of the controller is valid.
inline constexpr absl::Duration kServerValidity = absl::Hours(24 * 365 * 5);

// Adds names and IPv4 addresses by which the controller is reached. InvalidArgument: one is
// neither.
absl::Status AddHosts(const std::vector<std::string>& hosts, pki::Subject& subject);

class AuthorityFolder {
 public:
  enum class Stage {
    kSettled,   // one root, no change under way
    kBegun,     // the old key signs: Begin() was interrupted
    kChanging,  // two roots, and the new key signs
    kEnding,    // one root, the new one; End() has not been called
  };
  struct State {
    Stage stage = Stage::kSettled;
    std::string signing;               // "sha256:…"
    std::vector<std::string> trusted;  // in the same form; includes `signing`
    std::string token_key;  // the change under way is to this key; empty: to one in ca.key
  };

  // `files` must outlive the object.
  AuthorityFolder(std::string folder, sys::FileSystem& files)
      : folder_(std::move(folder)), files_(files) {}

  // FailedPrecondition: the files do not fit together; the message says what to do. NotFound: there
  // are none.
  absl::StatusOr<State> Read();

  // The first step, from kSettled or kBegun. `token_key` is the PKCS #11 URI of the new key. When
  // empty, the key that an interrupted Begin() used is taken, or else a new one is made in ca.key.
  // FailedPrecondition: the token's key is the one that signs already.
  absl::Status Begin(absl::string_view token_key, absl::Time now);
  // Forgets the old key. REQUIRES: the controller runs with the new one.
  absl::Status Confirm();
  // Goes back to the old authority; impossible after Confirm(). REQUIRES: the new authority has
  // signed nothing.
  absl::Status Undo();

  // The second step, from kChanging. REQUIRES: everybody has followed the change.
  absl::Status Finish(absl::Time now);
  // The change is over, from kEnding.
  absl::Status End();

  // Signs the certificate in an administrator's folder again, with the same key and the same end,
  // and adds the roots. `muster init` made it, so the store does not know it and the controller
  // does not renew it. A missing or expired certificate is left as it is.
  absl::Status SignAdministrator(const std::string& folder, absl::Time now);

  // Signs it again for another kAdministratorValidity from now, also when it has ended: the way
  // back in for whoever is root on the controller. Returns the certificate. NotFound: there is
  // none.
  absl::StatusOr<std::string> RenewAdministrator(const std::string& folder, absl::Time now);

  // Signs controller.crt again, for the same key, its names and `hosts`, and for kServerValidity
  // from now, also when it has ended. Returns the certificate; musterd reads it at its start.
  // FailedPrecondition: it has not ended, and in kChanging the new root would sign, which not
  // everybody trusts yet. InvalidArgument: as AddHosts().
  absl::StatusOr<std::string> RenewController(const std::vector<std::string>& hosts,
                                              absl::Time now);
  // FailedPrecondition: controller.crt has ended, so that nobody reaches musterd; the message says
  // what to do.
  absl::Status CheckController(absl::Time now);

 private:
  // The root that signs now, and its key.
  absl::StatusOr<pki::Authority> Signer();
  absl::StatusOr<std::string> SignController(const pki::Authority& ca, const pki::Subject& more,
                                             absl::Time now);
  // Writes the roots, and the certificate with that end, signed by the root that signs now.
  absl::StatusOr<std::string> SignFor(const std::string& folder, const std::string& certificate,
                                      absl::Time now, absl::Time end);
  std::string Path(absl::string_view name) const;
  absl::Status WriteKey(absl::string_view name, const std::string& key);

  const std::string folder_;
  sys::FileSystem& files_;
};

}  // namespace muster::cli
