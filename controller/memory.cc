#include "controller/memory.h"

#include <malloc.h>

namespace muster::controller {
namespace {

// glibc makes up to eight heaps per core. Memory that one thread frees stays in its heap, where no
// other thread looks for it.
constexpr int kHeaps = 4;

}  // namespace

void KeepMemoryTogether() { mallopt(M_ARENA_MAX, kHeaps); }

void ReturnMemory() { malloc_trim(0); }

}  // namespace muster::controller
