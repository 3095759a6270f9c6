// Fills matrices with random elements.
#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/element.h"

namespace muster::kernels {

// `words` words of 64 bits, each with as many elements of Element `type` as it holds; the first has
// index `first`.
MUSTER_KERNEL(256)
fill_elements(uint64_t* out, uint64_t words, int type, uint64_t seed, uint64_t first) {
  const Element element = static_cast<Element>(type);
  const int bits = BytesOf(element) * 8;
  const int in_word = 64 / bits;
  for (uint64_t i = GridThread(); i < words; i += GridThreads()) {
    uint64_t word = 0;
    for (int part = 0; part < in_word; ++part)
      word |= ElementBits(element, seed, first + i * in_word + part) << (part * bits % 64);
    out[i] = word;
  }
}

}  // namespace muster::kernels
