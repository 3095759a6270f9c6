// Private keys that live in a token (a smart card, an HSM) and never leave it. For the files of
// this folder only.
//
// A key is named by its PKCS #11 URI (RFC 7512): "pkcs11:token=muster;object=ca;type=private?
// pin-source=file:/etc/muster/pki/token.pin". OpenSSL reaches it by its engine `pkcs11` (Debian's
// libengine-pkcs11-openssl), which asks the modules that p11-kit knows.
#pragma once

#include <memory>
#include <string>

#include <openssl/evp.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "common/pki/openssl.h"

namespace muster::pki {

// `uri` begins with "pkcs11:". REQUIRES: a TokenTurn. Errors: FailedPrecondition with the remedy:
// OpenSSL has no such engine, the token is missing, its PIN is wrong, it has no such key. No
// message repeats the URI, which may hold a PIN, and nobody is asked for one.
absl::StatusOr<KeyPtr> OpenTokenKey(absl::string_view uri);

// Token modules are not known to be thread-safe: hold this from before a key is opened until after
// it is released.
class TokenTurn {
 public:
  TokenTurn();

 private:
  std::unique_ptr<absl::MutexLock> lock_;
};

}  // namespace muster::pki
