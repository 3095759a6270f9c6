// Writes patterns into the memory of the GPU and reads them back.
#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/note.h"
#include "agent/burnin/gpu/kernels/pattern.h"
#include "agent/burnin/gpu/kernels/walk.h"

namespace muster::kernels {

// Kernels take an even number of words, at an address that is a multiple of 16.
using TwoWords = Vector<uint64_t, 2>::Type;

// What the words at `at` should hold.
struct Expectation {
  Pattern pattern;
  uint64_t round, seed;

  MUSTER_DEVICE TwoWords At(const TwoWords* at) const {
    const auto address = reinterpret_cast<uint64_t>(at);
    return TwoWords{PatternWord(pattern, round, seed, address),
                    PatternWord(pattern, round, seed, address + 8)};
  }
};

MUSTER_RARE void NoteTwo(const TwoWords* at, TwoWords expected, TwoWords read, Report* report) {
  for (int i = 0; i < 2; ++i)
    if (read[i] != expected[i])
      NoteMismatch(report, reinterpret_cast<uint64_t>(at) + i * 8, expected[i], read[i]);
}

MUSTER_DEVICE void CompareTwo(const TwoWords* at, TwoWords expected, TwoWords read,
                              Report* report) {
  if (((read[0] ^ expected[0]) | (read[1] ^ expected[1])) != 0) NoteTwo(at, expected, read, report);
}

// Sums the written words into the digest, as memory_verify sums the read ones: if a comparison
// itself goes wrong, the two sums still show it.
MUSTER_KERNEL(256)
memory_write(TwoWords* out, uint64_t words, int pattern, uint64_t round, uint64_t seed,
             Report* report) {
  const Expectation should = {static_cast<Pattern>(pattern), round, seed};
  uint64_t sum = 0;
  for (uint64_t i = GridThread(); i < words / 2; i += GridThreads()) {
    const TwoWords two = should.At(out + i);
    out[i] = two;
    sum += two[0] + two[1];
  }
  AddTo(&report->digest, sum);
}

MUSTER_KERNEL(256)
memory_verify(const TwoWords* in, uint64_t words, int pattern, uint64_t round, uint64_t seed,
              Report* report) {
  const Expectation should = {static_cast<Pattern>(pattern), round, seed};
  uint64_t sum = 0;
  WalkLoading(in, words / 2, [&](uint64_t i, TwoWords read) {
    sum += read[0] + read[1];
    CompareTwo(in + i, should.At(in + i), read, report);
  });
  AddTo(&report->digest, sum);
}

// A step of moving inversions: each word is compared and at once replaced by its inverse.
// `inverted`: not 0 when memory should hold the inverse now.
MUSTER_KERNEL(256)
memory_invert(TwoWords* words_of, uint64_t words, int pattern, uint64_t round, uint64_t seed,
              uint64_t inverted, Report* report) {
  const Expectation should = {static_cast<Pattern>(pattern), round, seed};
  const uint64_t flip = inverted != 0 ? ~uint64_t{0} : 0;
  WalkLoading(words_of, words / 2, [&](uint64_t i, TwoWords read) {
    const TwoWords expected = should.At(words_of + i) ^ flip;
    // In this order: a word that is written while the same one is still on its way from memory
    // costs an H100 half of its bandwidth.
    CompareTwo(words_of + i, expected, read, report);
    words_of[i] = ~expected;
  });
}

using Bytes16 = Vector<uint32_t, 4>::Type;

// Measures bandwidth. `count` times 16 bytes.
MUSTER_KERNEL(256) memory_copy(Bytes16* to, const Bytes16* from, uint64_t count) {
  WalkLoading(from, count, [&](uint64_t i, Bytes16 read) { to[i] = read; });
}

}  // namespace muster::kernels
