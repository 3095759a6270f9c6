// What a verifying kernel writes down: counts of all that is wrong, and the first places.
#pragma once

#include <stdint.h>

namespace muster::kernels {

struct Mismatch {
  uint64_t place;  // an index of C, or a device address
  uint64_t expected;
  uint64_t read;
};

// Lies in the GPU's memory, zeroed before the first kernel that adds to it.
struct Report {
  static constexpr uint64_t kMaxRecords = 100;

  uint64_t mismatches;
  // Of the words that were read: NaN or infinite, whatever was expected.
  uint64_t not_finite;
  // A sum over all words, whatever their order: of memory the words themselves, of matrices each
  // word mixed with its place.
  uint64_t digest;
  // How many of `first` were asked for; above kMaxRecords they are not there.
  uint64_t records;
  Mismatch first[kMaxRecords];
};

}  // namespace muster::kernels
