// Keeps the agent's memory small while it is idle.
#pragma once

#include <cstddef>

namespace muster::agent {

// Makes the allocator keep less; call before any thread is started.
void KeepMemorySmall();

// Resident bytes of the process; 0 when unknown.
size_t ResidentBytes();

// Returns free heap memory, and drops the pages of programs and libraries that starting up and
// plans read once: pages that are used again are mapped again from the page cache.
void ReturnMemory();

// Decides when to give memory back: once, some time after work made the process grow. Pure.
class MemoryKeeper {
 public:
  // Smaller growth is the normal fluctuation of heartbeats.
  static constexpr size_t kWorthwhileBytes = size_t{2} << 20;
  // Consecutive idle looks before anything is done: plays follow each other.
  static constexpr int kIdleLooks = 3;

  // True: call ReturnMemory(), then Returned().
  bool Look(bool idle, size_t resident_bytes);
  void Returned(size_t resident_bytes) { floor_ = resident_bytes; }

 private:
  size_t floor_ = 0;
  int idle_looks_ = 0;
};

}  // namespace muster::agent
