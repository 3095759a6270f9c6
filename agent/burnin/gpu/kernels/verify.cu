// Compares results of GEMMs bit for bit on the GPU, and makes the digest of one.
#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/element.h"
#include "agent/burnin/gpu/kernels/note.h"

namespace muster::kernels {

// Exponent bits of C's type; 0: integers, which are always finite.
MUSTER_DEVICE bool IsFinite(uint64_t word, uint64_t exponent_mask) {
  return exponent_mask == 0 || (word & exponent_mask) != exponent_mask;
}

template <typename Word>
MUSTER_DEVICE void Compare(const Word* read, const Word* golden, uint64_t words,
                           uint64_t exponent_mask, Report* report) {
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    const Word is = read[i], should = golden[i];
    if (is != should) NoteMismatch(report, i, should, is);
    if (!IsFinite(is, exponent_mask)) AddTo(&report->not_finite, 1);
  }
}

template <typename Word>
MUSTER_DEVICE void Digest(const Word* read, uint64_t words, uint64_t exponent_mask,
                          Report* report) {
  uint64_t sum = 0;
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    sum += Mix(Mix(i) ^ read[i]);
    if (!IsFinite(read[i], exponent_mask)) AddTo(&report->not_finite, 1);
  }
  AddTo(&report->digest, sum);
}

MUSTER_KERNEL(256)
compare_words32(const uint32_t* read, const uint32_t* golden, uint64_t words,
                uint64_t exponent_mask, Report* report) {
  Compare(read, golden, words, exponent_mask, report);
}

MUSTER_KERNEL(256)
compare_words64(const uint64_t* read, const uint64_t* golden, uint64_t words,
                uint64_t exponent_mask, Report* report) {
  Compare(read, golden, words, exponent_mask, report);
}

MUSTER_KERNEL(256)
digest_words32(const uint32_t* read, uint64_t words, uint64_t exponent_mask, Report* report) {
  Digest(read, words, exponent_mask, report);
}

MUSTER_KERNEL(256)
digest_words64(const uint64_t* read, uint64_t words, uint64_t exponent_mask, Report* report) {
  Digest(read, words, exponent_mask, report);
}

}  // namespace muster::kernels
