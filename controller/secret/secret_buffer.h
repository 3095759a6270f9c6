// Bytes that must not be shown.
#pragma once

#include <ostream>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::controller {

// Holds a secret, prints as "[secret]" wherever it is printed, and wipes its memory on destruction.
// Reveal() is the only access to the bytes, so that each use can be found by its name.
class SecretBuffer {
 public:
  explicit SecretBuffer(std::string bytes) : bytes_(std::move(bytes)) {}
  ~SecretBuffer();
  SecretBuffer(SecretBuffer&& other) noexcept;
  SecretBuffer& operator=(SecretBuffer&& other) noexcept;
  SecretBuffer(const SecretBuffer&) = delete;
  SecretBuffer& operator=(const SecretBuffer&) = delete;

  absl::string_view Reveal() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  void Wipe();
  std::string bytes_;
};

std::ostream& operator<<(std::ostream& out, const SecretBuffer& secret);

}  // namespace muster::controller
