// The allocator of musterd. A run over thousands of nodes makes and drops tens of thousands of
// small objects for each, often on different threads; glibc's heaps took a quarter of musterd's
// time for that (docs/benchmarks.md, "The allocator").
#include <jemalloc/jemalloc.h>

// Read by jemalloc before main(). Few arenas, because memory that one of them has free is no use to
// the others, and a thread that returns to the system what was not used again within a second: what
// a large run needed at its height is needed once.
const char* malloc_conf =
    "narenas:4,background_thread:true,max_background_threads:1,dirty_decay_ms:1000,muzzy_decay_ms:"
    "0";
