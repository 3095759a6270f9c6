// The report of a verifying kernel: counts of all errors, and the first places.
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
  // Among the words that were read: NaN or infinite, whatever was expected.
  uint64_t not_finite;
  // An order-independent sum over all words: for memory the words themselves, for matrices each
  // word mixed with its place.
  uint64_t digest;
  // The number of entries of `first` that were asked for; those above kMaxRecords do not exist.
  uint64_t records;
  Mismatch first[kMaxRecords];
};

}  // namespace muster::kernels
