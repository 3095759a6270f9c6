// OpenSSL 3.0, which Debian 12 has, reaches tokens by engines: there is no provider for it there.
// Debian 13 has both.
#include "common/pki/token_key.h"

#include <openssl/engine.h>
#include <openssl/ui.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace muster::pki {
namespace {

constexpr size_t kMaxUriBytes = 1024;

absl::Mutex& TokenMutex() {
  static absl::Mutex mutex;
  return mutex;
}

// Loaded once and kept: OpenSSL unloads it when the process ends.
absl::StatusOr<ENGINE*> LoadEngine() {
  static ENGINE* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  ENGINE_load_dynamic();
  ENGINE* engine = ENGINE_by_id("pkcs11");
  if (engine == nullptr) {
    return OpenSslError(absl::StatusCode::kFailedPrecondition,
                        "the key is in a PKCS #11 token, but OpenSSL has no engine pkcs11; install "
                        "libengine-pkcs11-openssl on this machine");
  }
  // By default it writes the URIs of keys that it does not find, PINs included, to standard error.
  ENGINE_ctrl_cmd_string(engine, "QUIET", nullptr, 0);
  if (ENGINE_init(engine) != 1) {
    ENGINE_free(engine);
    return OpenSslError(absl::StatusCode::kFailedPrecondition,
                        "OpenSSL's engine pkcs11 does not start; see `p11-kit list-modules`");
  }
  return loaded = engine;
}

// Replaces OpenSSL's own, which would ask for the PIN on the terminal: musterd has none.
UI_METHOD* RefusingToAsk() {
  static UI_METHOD* const method = [] {
    UI_METHOD* made = UI_create_method("none");
    UI_method_set_reader(made, [](UI*, UI_STRING*) { return 0; });
    return made;
  }();
  return method;
}

}  // namespace

absl::StatusOr<KeyPtr> OpenTokenKey(absl::string_view uri) {
  const std::string trimmed(absl::StripAsciiWhitespace(uri));
  if (trimmed.size() > kMaxUriBytes)
    return absl::InvalidArgumentError("the PKCS #11 URI of the key is longer than 1 KiB");
  for (const char c : trimmed) {
    if (!absl::ascii_isgraph(static_cast<unsigned char>(c)))
      return absl::InvalidArgumentError(
          "the PKCS #11 URI of the key contains something other than printable characters without "
          "spaces; write spaces as %20");
  }
  ASSIGN_OR_RETURN(ENGINE* const engine, LoadEngine());
  KeyPtr key(ENGINE_load_private_key(engine, trimmed.c_str(), RefusingToAsk(), nullptr));
  if (key == nullptr) {
    return OpenSslError(
        absl::StatusCode::kFailedPrecondition,
        "the token does not provide the key of the PKCS #11 URI: is the token present, may this "
        "account use it, is the PIN right (`p11tool --list-all`)");
  }
  return key;
}

TokenTurn::TokenTurn() : lock_(std::make_unique<absl::MutexLock>(&TokenMutex())) {}

}  // namespace muster::pki

#pragma GCC diagnostic pop
