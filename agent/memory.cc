#include "agent/memory.h"

#include <link.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace muster::agent {
namespace {

// glibc makes one arena per thread; on a node of 128 cores that means as many half-empty heaps.
constexpr int kArenas = 2;
// Fixed, because glibc otherwise raises both to the size of the largest plan and then keeps that
// much.
constexpr int kMapAboveBytes = 128 << 10;
constexpr int kTrimAboveBytes = 128 << 10;

// Only segments that nothing may write to: their content is in their files. Data written by the
// dynamic linker or the program is in other segments, and would be lost.
int LetGoOfPages(dl_phdr_info* object, size_t, void* page_size) {
  if (object->dlpi_addr == ::getauxval(AT_SYSINFO_EHDR)) return 0;
  const auto page = *static_cast<const uintptr_t*>(page_size);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const uintptr_t begin = object->dlpi_addr + segment.p_vaddr;
    const uintptr_t first = begin & ~(page - 1);
    const uintptr_t last = begin + segment.p_filesz;
    ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void KeepMemorySmall() {
  ::mallopt(M_ARENA_MAX, kArenas);
  ::mallopt(M_MMAP_THRESHOLD, kMapAboveBytes);
  ::mallopt(M_TRIM_THRESHOLD, kTrimAboveBytes);
}

size_t ResidentBytes() {
  FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  size_t total = 0, resident = 0;
  const int read = std::fscanf(file, "%zu %zu", &total, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void ReturnMemory() {
  ::malloc_trim(0);
  auto page_size = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  ::dl_iterate_phdr(&LetGoOfPages, &page_size);
}

bool MemoryKeeper::Look(bool idle, size_t resident_bytes) {
  if (!idle) {
    idle_looks_ = 0;
    return false;
  }
  if (idle_looks_ < kIdleLooks) ++idle_looks_;
  return idle_looks_ == kIdleLooks && resident_bytes > floor_ + kWorthwhileBytes;
}

}  // namespace muster::agent
