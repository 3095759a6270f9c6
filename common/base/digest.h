// SHA-256 and random bytes, as the rest of Muster uses them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace muster {

// The digest in lower-case hexadecimal: 64 characters.
std::string Sha256Hex(absl::string_view data);
// Whether `text` is a SHA-256 in lower-case hex.
bool IsSha256(absl::string_view text);

// A digest over data that comes in pieces. Not thread-safe.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void Update(absl::string_view data);
  // Lower-case hexadecimal; call once, last.
  std::string FinishHex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Bytes from the system's cryptographic generator. Aborts if it fails.
std::string RandomBytes(size_t count);

// Compares without revealing by its duration where two strings differ.
bool ConstantTimeEquals(absl::string_view a, absl::string_view b);

}  // namespace muster
