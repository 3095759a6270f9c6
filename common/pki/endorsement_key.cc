#include "common/pki/endorsement_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>

#include "absl/strings/str_cat.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "common/pki/openssl.h"

namespace muster::pki {
namespace {

constexpr int kBits = 2048;
// A key of this kind has 451 bytes.
constexpr size_t kMaxPem = 1024;

absl::Status NotOne() {
  return absl::InvalidArgumentError(
      "this is not the public endorsement key of a TPM: PEM, RSA with 2048 bits");
}

bool HasUsualExponent(const EVP_PKEY* key) {
  BIGNUM* exponent = nullptr;
  if (EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_RSA_E, &exponent) != 1) return false;
  const bool is_usual = BN_is_word(exponent, RSA_F4) == 1;
  BN_free(exponent);
  return is_usual;
}

}  // namespace

absl::StatusOr<EndorsementKey> ParseEndorsementKey(absl::string_view public_pem) {
  if (public_pem.size() > kMaxPem) return NotOne();
  const BioPtr in(BIO_new_mem_buf(public_pem.data(), static_cast<int>(public_pem.size())));
  const KeyPtr key(PEM_read_bio_PUBKEY(in.get(), nullptr, nullptr, nullptr));
  if (key == nullptr || EVP_PKEY_get_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_PKEY_get_bits(key.get()) != kBits || !HasUsualExponent(key.get())) {
    OpenSslError(absl::StatusCode::kInvalidArgument, "").IgnoreError();  // empties its queue
    return NotOne();
  }
  EndorsementKey read;
  ASSIGN_OR_RETURN(read.sha256, PublicKeySha256(key.get()));
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PUBKEY(out.get(), key.get()) != 1)
    return OpenSslError(absl::StatusCode::kInternal, "writing an endorsement key");
  read.public_pem = BioText(out.get());
  return read;
}

std::string MachineUuid(absl::string_view sha256, absl::string_view node_name) {
  return UuidOf(absl::StrCat("muster node ", node_name, " with TPM ", sha256));
}

}  // namespace muster::pki
