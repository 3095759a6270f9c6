// What the agent holds of its node's memory while it has nothing to do.
#pragma once

#include <cstddef>

namespace muster::agent {

// Makes the allocator keep less; before any thread is started.
void KeepMemorySmall();

// Bytes of the process that are in memory now; 0 when they cannot be told.
size_t ResidentBytes();

// Gives back what is free in the heap, and lets go of the pages of programs and libraries, which
// starting up and plans read once: whatever runs again is mapped again from the page cache.
void ReturnMemory();

// When to give memory back: once, some time after work made the process grow. Pure.
class MemoryKeeper {
 public:
  // Growth below it is the beating of a heart.
  static constexpr size_t kWorthwhileBytes = size_t{2} << 20;
  // Idle looks in a row before anything is done: plays follow each other.
  static constexpr int kIdleLooks = 3;

  // True: call ReturnMemory(), then Returned().
  bool Look(bool idle, size_t resident_bytes);
  void Returned(size_t resident_bytes) { floor_ = resident_bytes; }

 private:
  size_t floor_ = 0;
  int idle_looks_ = 0;
};

}  // namespace muster::agent
