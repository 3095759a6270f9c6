// Keeps the agent running on glibc 2.34 (Rocky 9, Ubuntu 22.04): of all that is linked into it
// only libstdc++'s random_device asks for a symbol of glibc 2.36, and finds this one instead.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() noexcept {
  uint32_t value = 0;
  // So few bytes come whole, or not at all while the kernel has not gathered enough at boot.
  while (::getrandom(&value, sizeof value, 0) < 0 && errno == EINTR) {
  }
  return value;
}
