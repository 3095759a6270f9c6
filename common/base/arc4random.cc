// arc4random() came with glibc 2.36, and c-ares, as Debian builds it, calls it. With this
// definition our programs need no glibc newer than 2.34, so they run on older systems too.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>

// Blocks only before the kernel has gathered its first randomness. Cannot fail: without randomness
// the program aborts, like the C library's own.
extern "C" uint32_t arc4random() noexcept {
  uint32_t value = 0;
  ssize_t got;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof value) abort();
  return value;
}
