// A parser under hostile input: FUZZ_TARGET(name, data, size) heads the function that is given each
// input, and returns 0 (libFuzzer's contract). libFuzzer makes a program of each; every other build
// puts all of them into one, which replays their corpora.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef MUSTER_LIBFUZZER

#define FUZZ_TARGET(name, data, size) \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)

#else

namespace muster::testing {

using FuzzTarget = int (*)(const uint8_t* data, size_t size);
// Before main(). `name` is a literal.
bool AddFuzzTarget(const char* name, FuzzTarget target);

}  // namespace muster::testing

#define FUZZ_TARGET(name, data, size)                        \
  static int name##_fuzz(const uint8_t* data, size_t size);  \
  [[maybe_unused]] static const bool name##_fuzz_is_known =  \
      ::muster::testing::AddFuzzTarget(#name, &name##_fuzz); \
  static int name##_fuzz(const uint8_t* data, size_t size)

#endif
