#include "controller/notify/signature.h"

#include <cstdlib>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace muster::controller::notify {

std::string HmacSha256Hex(absl::string_view key, absl::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest,
           &size) == nullptr)
    std::abort();  // only for want of memory
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

std::string Signature(absl::string_view key, absl::string_view timestamp, absl::string_view body) {
  return absl::StrCat("sha256=", HmacSha256Hex(key, absl::StrCat(timestamp, ".", body)));
}

}  // namespace muster::controller::notify
