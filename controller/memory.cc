#include "controller/memory.h"

#include <malloc.h>

namespace muster::controller {
namespace {

// glibc makes up to eight for each core. What one thread frees in its own stays there, where no
// other one looks for it.
constexpr int kHeaps = 4;

}  // namespace

void KeepMemoryTogether() { mallopt(M_ARENA_MAX, kHeaps); }

void ReturnMemory() { malloc_trim(0); }

}  // namespace muster::controller
