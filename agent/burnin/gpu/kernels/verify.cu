// Compares results of GEMMs bit for bit on the GPU, and makes the digest of one.
#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/element.h"
#include "agent/burnin/gpu/kernels/note.h"

namespace muster::kernels {

// Exponent bits of C's type; 0: integers, which are always finite.
MUSTER_DEVICE bool IsFinite(uint64_t word, uint64_t exponent_mask) {
  return exponent_mask == 0 || (word & exponent_mask) != exponent_mask;
}

// 16 bytes of a result.
template <typename Word>
struct Piece {
  static constexpr int kWords = 16 / sizeof(Word);
  using Type = typename Vector<Word, kWords>::Type;
};

// `place`: index of the first word.
template <typename Word>
MUSTER_RARE void NotePiece(typename Piece<Word>::Type read, typename Piece<Word>::Type golden,
                           uint64_t place, uint64_t exponent_mask, Report* report) {
  for (int i = 0; i < Piece<Word>::kWords; ++i) {
    if (read[i] != golden[i]) NoteMismatch(report, place + i, golden[i], read[i]);
    if (!IsFinite(read[i], exponent_mask)) AddTo(&report->not_finite, 1);
  }
}

template <typename Word>
MUSTER_DEVICE bool IsFinitePiece(typename Piece<Word>::Type read, uint64_t exponent_mask) {
  bool finite = true;
  for (int i = 0; i < Piece<Word>::kWords; ++i) finite &= IsFinite(read[i], exponent_mask);
  return finite;
}

template <typename Word>
MUSTER_DEVICE bool IsSamePiece(typename Piece<Word>::Type a, typename Piece<Word>::Type b) {
  Word different = 0;
  for (int i = 0; i < Piece<Word>::kWords; ++i) different |= a[i] ^ b[i];
  return different == 0;
}

// Compares `count` results of `words` words each, which lie one behind the other from `results` on,
// with one golden result, which is read once for all of them. A word that equals a finite one is
// finite. A mismatch's place is counted from `results`.
template <typename Word>
MUSTER_DEVICE void Compare(const Word* results, uint64_t count, const Word* golden, uint64_t words,
                           uint64_t exponent_mask, Report* report) {
  using Read = typename Piece<Word>::Type;
  constexpr int kAtOnce = 4;
  const uint64_t pieces = words / Piece<Word>::kWords;
  for (uint64_t i = GridThread(); i < pieces; i += GridThreads()) {
    const Read should = reinterpret_cast<const Read*>(golden)[i];
    const bool finite = IsFinitePiece<Word>(should, exponent_mask);
    const Read* at = reinterpret_cast<const Read*>(results) + i;
    const auto take = [&](uint64_t result, Read read) {
      if (IsSamePiece<Word>(read, should) && finite) return;
      NotePiece<Word>(read, should, result * words + i * Piece<Word>::kWords, exponent_mask,
                      report);
    };
    uint64_t result = 0;
    for (; result + kAtOnce <= count; result += kAtOnce) {
      Read read[kAtOnce];
      MUSTER_UNROLL
      for (int k = 0; k < kAtOnce; ++k) read[k] = at[(result + k) * pieces];
      MUSTER_UNROLL
      for (int k = 0; k < kAtOnce; ++k) take(result + k, read[k]);
    }
    for (; result < count; ++result) take(result, at[result * pieces]);
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
compare_words32(const uint32_t* results, uint64_t count, const uint32_t* golden, uint64_t words,
                uint64_t exponent_mask, Report* report) {
  Compare(results, count, golden, words, exponent_mask, report);
}

MUSTER_KERNEL(256)
compare_words64(const uint64_t* results, uint64_t count, const uint64_t* golden, uint64_t words,
                uint64_t exponent_mask, Report* report) {
  Compare(results, count, golden, words, exponent_mask, report);
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
