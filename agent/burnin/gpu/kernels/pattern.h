// The pattern of a memory test: the word for an address, the same on GPU and host.
#pragma once

#include <stdint.h>

#include "agent/burnin/gpu/kernels/element.h"

namespace muster::kernels {

// The values are arguments of kernels.
enum class Pattern : int {
  // One bit of 64 is set; it moves by one from word to word and from round to round, so that in 64
  // rounds each bit of each word has been the only one set once.
  kWalkingOnes = 0,
  kWalkingZeros,
  // 00…, ff…, aa…, 55…: one per round, then all of them again inverted.
  kSolid,
  // The word's own address: finds address lines that are stuck or shorted together.
  kAddress,
  // A different number for each word, round and seed.
  kRandom,
};

MUSTER_BOTH uint64_t PatternWord(Pattern pattern, uint64_t round, uint64_t seed, uint64_t address) {
  const uint64_t index = address / 8;
  switch (pattern) {
    case Pattern::kWalkingOnes:
      return uint64_t{1} << ((index + round) % 64);
    case Pattern::kWalkingZeros:
      return ~(uint64_t{1} << ((index + round) % 64));
    case Pattern::kSolid: {
      const uint64_t solid = (round & 2) != 0 ? 0xaaaaaaaaaaaaaaaau : 0;
      return (round & 1) != 0 ? ~solid : solid;
    }
    case Pattern::kAddress:
      return address;
    case Pattern::kRandom:
      return RandomWord(seed + round, index);
  }
  return 0;
}

}  // namespace muster::kernels
