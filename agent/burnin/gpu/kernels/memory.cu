// Writes patterns into the memory of the GPU and reads them back.
#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/note.h"
#include "agent/burnin/gpu/kernels/pattern.h"

namespace muster::kernels {

MUSTER_DEVICE uint64_t WordFor(const uint64_t* word, int pattern, uint64_t round, uint64_t seed) {
  return PatternWord(static_cast<Pattern>(pattern), round, seed, reinterpret_cast<uint64_t>(word));
}

// Sums the written words into the digest, as memory_verify sums the read ones: if a comparison
// itself goes wrong, the two sums still show it.
MUSTER_KERNEL(256)
memory_write(uint64_t* out, uint64_t words, int pattern, uint64_t round, uint64_t seed,
             Report* report) {
  uint64_t sum = 0;
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    const uint64_t word = WordFor(out + i, pattern, round, seed);
    out[i] = word;
    sum += word;
  }
  AddTo(&report->digest, sum);
}

MUSTER_KERNEL(256)
memory_verify(const uint64_t* in, uint64_t words, int pattern, uint64_t round, uint64_t seed,
              Report* report) {
  uint64_t sum = 0;
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    const uint64_t expected = WordFor(in + i, pattern, round, seed);
    const uint64_t read = in[i];
    sum += read;
    if (read != expected) NoteMismatch(report, reinterpret_cast<uint64_t>(in + i), expected, read);
  }
  AddTo(&report->digest, sum);
}

// A step of moving inversions: each word is compared and at once replaced by its inverse.
// `inverted`: not 0 when memory should hold the inverse now.
MUSTER_KERNEL(256)
memory_invert(uint64_t* words_of, uint64_t words, int pattern, uint64_t round, uint64_t seed,
              uint64_t inverted, Report* report) {
  const uint64_t flip = inverted != 0 ? ~uint64_t{0} : 0;
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    const uint64_t expected = WordFor(words_of + i, pattern, round, seed) ^ flip;
    const uint64_t read = words_of[i];
    words_of[i] = ~expected;
    if (read != expected)
      NoteMismatch(report, reinterpret_cast<uint64_t>(words_of + i), expected, read);
  }
}

using Bytes16 = Vector<uint32_t, 4>::Type;

// Measures bandwidth. `count` times 16 bytes.
MUSTER_KERNEL(256) memory_copy(Bytes16* to, const Bytes16* from, uint64_t count) {
  for (uint64_t i = GridThread(); i < count; i += GridThreads()) to[i] = from[i];
}

}  // namespace muster::kernels
