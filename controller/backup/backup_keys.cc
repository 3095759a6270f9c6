#include "controller/backup/backup_keys.h"

#include <openssl/evp.h>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "controller/secret/secret_box.h"

namespace muster::controller {
namespace {

constexpr size_t kSaltBytes = 16;
// 128 MiB and about half a second per guess.
constexpr uint64_t kScryptN = 1 << 17;
constexpr uint64_t kScryptR = 8;
constexpr uint64_t kScryptP = 1;
constexpr uint64_t kScryptMemory = 256 << 20;
// Bound into the seal, so that nothing else that was sealed can be taken for it.
constexpr char kSealName[] = "muster-backup-keys";
constexpr uint32_t kSealVersion = 2;

absl::StatusOr<SecretBox> BoxOf(const SecretBuffer& passphrase, absl::string_view salt) {
  std::string key(kSecretKeyBytes, '\0');
  const absl::string_view text = passphrase.Reveal();
  if (EVP_PBE_scrypt(text.data(), text.size(), reinterpret_cast<const unsigned char*>(salt.data()),
                     salt.size(), kScryptN, kScryptR, kScryptP, kScryptMemory,
                     reinterpret_cast<unsigned char*>(key.data()), key.size()) != 1)
    return absl::InternalError("deriving a key from the passphrase failed: is enough memory free?");
  return SecretBox::Create(SecretBuffer(std::move(key)));
}

}  // namespace

absl::StatusOr<std::string> SealKeys(const std::map<std::string, std::string>& files,
                                     const SecretBuffer& passphrase) {
  if (passphrase.size() < kMinPassphraseBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a passphrase of ", passphrase.size(),
        " characters protects the cluster's keys badly: ", kMinPassphraseBytes, " or more"));
  }
  const std::string salt = RandomBytes(kSaltBytes);
  ASSIGN_OR_RETURN(const SecretBox box, BoxOf(passphrase, salt));
  ASSIGN_OR_RETURN(std::string packed, sys::PackTarGz(files));
  const SecretBuffer plain(std::move(packed));
  ASSIGN_OR_RETURN(const std::string sealed, box.Seal(kSealName, kSealVersion, plain.Reveal()));
  return absl::StrCat(salt, sealed);
}

absl::StatusOr<std::map<std::string, std::string>> OpenKeys(absl::string_view sealed,
                                                            const SecretBuffer& passphrase) {
  if (sealed.size() < kSaltBytes) return absl::DataLossError("keys.sealed is cut off");
  ASSIGN_OR_RETURN(const SecretBox box, BoxOf(passphrase, sealed.substr(0, kSaltBytes)));
  const absl::StatusOr<SecretBuffer> plain =
      box.Open(kSealName, kSealVersion, sealed.substr(kSaltBytes));
  if (!plain.ok()) return absl::PermissionDeniedError("the passphrase does not open the keys");
  return sys::UnpackTarGz(plain->Reveal());
}

}  // namespace muster::controller
