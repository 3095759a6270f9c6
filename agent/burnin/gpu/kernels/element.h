// The numbers that are multiplied: the type of an element, and its value by its index, the same on
// GPU and host. Random values, never zeros or ones: equal data hides errors and saves power.
#pragma once

#include <stdint.h>

#ifdef __CUDA__
#define MUSTER_BOTH inline __attribute__((device, host))
#else
#define MUSTER_BOTH inline
#endif

namespace muster::kernels {

// Types of the elements of A and B. The values are arguments of kernels.
enum class Element : int { kF32 = 0, kF64, kF16, kBf16, kTf32, kE4m3, kS8 };

MUSTER_BOTH int BytesOf(Element type) {
  switch (type) {
    case Element::kF64:
      return 8;
    case Element::kF32:
    case Element::kTf32:
      return 4;
    case Element::kF16:
    case Element::kBf16:
      return 2;
    case Element::kE4m3:
    case Element::kS8:
      return 1;
  }
  return 0;
}

// The output function of splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", 2014): a bijection on 64 bits, in which every output bit depends on all input bits.
MUSTER_BOTH uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Counter-based: the `index`-th number of stream `seed`, without computing those before it.
MUSTER_BOTH uint64_t RandomWord(uint64_t seed, uint64_t index) {
  return Mix(Mix(seed) + index * 0x9e3779b97f4a7c15u);
}

// A random sign, one of the four exponents from `exponent` on, a random mantissa. With four binary
// orders of magnitude, sums of products neither overflow nor vanish in any of the types.
MUSTER_BOTH uint64_t FloatBits(uint64_t word, int bits, int mantissa_bits, uint64_t exponent) {
  const uint64_t sign = word >> 63;
  const uint64_t scale = exponent + ((word >> 61) & 3);
  const uint64_t mantissa = word & ((uint64_t{1} << mantissa_bits) - 1);
  return sign << (bits - 1) | scale << mantissa_bits | mantissa;
}

// Bits of the `index`-th element of a matrix: magnitudes from 1/16 to 1, any byte for kS8.
MUSTER_BOTH uint64_t ElementBits(Element type, uint64_t seed, uint64_t index) {
  const uint64_t word = RandomWord(seed, index);
  switch (type) {
    case Element::kF32:
      return FloatBits(word, 32, 23, 123);
    case Element::kF64:
      return FloatBits(word, 64, 52, 1019);
    case Element::kF16:
      return FloatBits(word, 16, 10, 11);
    case Element::kBf16:
      return FloatBits(word, 16, 7, 123);
    case Element::kTf32:  // a float whose last 13 bits, which the tensor cores ignore, are zero
      return FloatBits(word, 19, 10, 123) << 13;
    case Element::kE4m3:
      return FloatBits(word, 8, 3, 3);
    case Element::kS8:
      return word & 0xff;
  }
  return 0;
}

}  // namespace muster::kernels
