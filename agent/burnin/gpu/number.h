// Converts the bits of floating-point types that C++ does not have to values.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "agent/burnin/gpu/kernels/element.h"

namespace muster::burnin {

inline double FromF32(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline double FromF64(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline double FromBf16(uint32_t bits) { return FromF32(bits << 16); }

// IEEE 754 binary16.
inline double FromF16(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  const double mantissa = bits & 0x3ff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0x1f)
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(mantissa + 1024, exponent - 25);
}

// The FP8 of "FP8 formats for deep learning" (Micikevicius and others, 2022) without infinities.
inline double FromE4m3(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 3 & 0xf);
  const double mantissa = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if (exponent == 0xf && mantissa == 7) return std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(mantissa, -9);
  return sign * std::ldexp(mantissa + 8, exponent - 10);
}

// The value of an element of A or B.
inline double ValueOf(kernels::Element type, uint64_t bits) {
  switch (type) {
    case kernels::Element::kF32:
    case kernels::Element::kTf32:
      return FromF32(static_cast<uint32_t>(bits));
    case kernels::Element::kF64:
      return FromF64(bits);
    case kernels::Element::kF16:
      return FromF16(static_cast<uint32_t>(bits));
    case kernels::Element::kBf16:
      return FromBf16(static_cast<uint32_t>(bits));
    case kernels::Element::kE4m3:
      return FromE4m3(static_cast<uint32_t>(bits));
    case kernels::Element::kS8:
      return static_cast<int8_t>(bits);
  }
  return 0;
}

}  // namespace muster::burnin
