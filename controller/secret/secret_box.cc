#include "controller/secret/secret_box.h"

#include <memory>
#include <optional>

#include <openssl/evp.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::controller {
namespace {

constexpr size_t kNonceBytes = 12;
constexpr size_t kTagBytes = 16;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using CipherContext = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* Bytes(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string AssociatedData(absl::string_view name, uint32_t version) {
  return absl::StrCat(version, ":", name);
}

absl::Status WrongKey(absl::string_view name) {
  return absl::DataLossError(
      absl::StrCat("secret ", name,
                   " does not open: it is damaged, or it was sealed with another "
                   "key; restore the key file, or set the secret again"));
}

}  // namespace

absl::StatusOr<SecretBox> SecretBox::Create(SecretBuffer key) {
  if (key.size() != kSecretKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a secret key has ", kSecretKeyBytes, " bytes, this one has ", key.size()));
  }
  return SecretBox(std::move(key));
}

absl::StatusOr<std::string> SecretBox::Seal(absl::string_view name, uint32_t version,
                                            absl::string_view value) const {
  const std::string aad = AssociatedData(name, version);
  const std::string nonce = RandomBytes(kNonceBytes);
  std::string sealed(value.size(), '\0');
  std::string tag(kTagBytes, '\0');
  int size = 0;
  CipherContext context(EVP_CIPHER_CTX_new());
  const bool ok =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(key_.Reveal()),
                         Bytes(nonce)) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &size, Bytes(absl::string_view(aad)),
                        static_cast<int>(aad.size())) == 1 &&
      EVP_EncryptUpdate(context.get(), Bytes(sealed), &size, Bytes(value),
                        static_cast<int>(value.size())) == 1 &&
      EVP_EncryptFinal_ex(context.get(), Bytes(sealed) + size, &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, Bytes(tag)) == 1;
  if (!ok) return absl::InternalError(absl::StrCat("sealing secret ", name, " failed"));
  return absl::StrCat(nonce, sealed, tag);
}

absl::StatusOr<SecretBuffer> SecretBox::Open(absl::string_view name, uint32_t version,
                                             absl::string_view sealed) const {
  if (sealed.size() < kNonceBytes + kTagBytes) return WrongKey(name);
  const std::string aad = AssociatedData(name, version);
  const absl::string_view nonce = sealed.substr(0, kNonceBytes);
  const absl::string_view text =
      sealed.substr(kNonceBytes, sealed.size() - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  std::string value(text.size(), '\0');
  int size = 0;
  CipherContext context(EVP_CIPHER_CTX_new());
  const bool ok =
      context != nullptr &&
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, Bytes(key_.Reveal()),
                         Bytes(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, Bytes(absl::string_view(aad)),
                        static_cast<int>(aad.size())) == 1 &&
      EVP_DecryptUpdate(context.get(), Bytes(value), &size, Bytes(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, Bytes(tag)) == 1 &&
      EVP_DecryptFinal_ex(context.get(), Bytes(value) + size, &size) == 1;
  SecretBuffer opened(std::move(value));
  if (!ok) return WrongKey(name);
  return opened;
}

absl::StatusOr<SecretKey> LoadSecretKey(sys::FileSystem& files,
                                        const std::string& credentials_directory,
                                        const std::string& path, bool may_create) {
  if (!credentials_directory.empty()) {
    const std::string credential = credentials_directory + "/secret_key";
    ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(credential));
    if (stat.has_value()) {
      ASSIGN_OR_RETURN(std::string key, files.Read(credential));
      if (key.size() != kSecretKeyBytes) {
        return absl::FailedPreconditionError(
            absl::StrCat("credential ", credential, " has ", key.size(), " bytes, not ",
                         kSecretKeyBytes, "; make one with `head -c 32 /dev/urandom`"));
      }
      return SecretKey{SecretBuffer(std::move(key)), credential};
    }
  }
  ASSIGN_OR_RETURN(const std::optional<sys::FileStat> stat, files.Stat(path));
  if (!stat.has_value() && !may_create) {
    return absl::FailedPreconditionError(
        absl::StrCat("the key of the secrets, ", path,
                     ", is missing while the store holds secrets; put the old key back, the "
                     "secrets open with no other"));
  }
  if (!stat.has_value()) {
    SecretBuffer key(RandomBytes(kSecretKeyBytes));
    sys::WriteOptions options;
    options.mode = 0600;
    RETURN_IF_ERROR(files.WriteAtomically(path, std::string(key.Reveal()), options));
    return SecretKey{std::move(key), path};
  }
  if ((stat->mode & 077) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " can be read by other users (mode ", absl::Hex(stat->mode >> 6),
                     absl::Hex((stat->mode >> 3) & 7), absl::Hex(stat->mode & 7),
                     "); run `chmod 600 ", path, "`"));
  }
  ASSIGN_OR_RETURN(std::string key, files.Read(path));
  if (key.size() != kSecretKeyBytes) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " has ", key.size(), " bytes, not ", kSecretKeyBytes,
                     "; restore it from a backup, the secrets open with no other key"));
  }
  return SecretKey{SecretBuffer(std::move(key)), path};
}

}  // namespace muster::controller
