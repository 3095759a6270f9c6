#include "controller/secret/secret_buffer.h"

#include <utility>

#include <openssl/crypto.h>

namespace muster::controller {

SecretBuffer::~SecretBuffer() { Wipe(); }

SecretBuffer::SecretBuffer(SecretBuffer&& other) noexcept : bytes_(other.bytes_) { other.Wipe(); }

SecretBuffer& SecretBuffer::operator=(SecretBuffer&& other) noexcept {
  if (this != &other) {
    Wipe();
    bytes_ = other.bytes_;
    other.Wipe();
  }
  return *this;
}

void SecretBuffer::Wipe() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
  bytes_.clear();
}

std::ostream& operator<<(std::ostream& out, const SecretBuffer&) { return out << "[secret]"; }

}  // namespace muster::controller
