// The checks of a fortified longjmp() take a jump to another stack for an error.
#undef _FORTIFY_SOURCE
#include "tests/fakes/nvidia/host/grid.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define MUSTER_FIBERS_OF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define MUSTER_FIBERS_OF_TSAN 1
#endif
#endif

namespace muster::fake_nvidia {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;
constexpr unsigned kWarp = 32;
constexpr char kUnwritten = '\x7f';
constexpr size_t kExchangeBytes = 64;  // per thread, at most

[[noreturn]] void Die(const char* why) {
  std::fprintf(stderr, "fake GPU: %s\n", why);
  std::abort();
}

enum class State { kReady, kAtBlock, kAtWarp, kWaiting, kDone };

// A thread of a block with barriers: a stack of its own, and where it stopped.
struct Fiber {
  State state = State::kReady;
  bool started = false;
  unsigned exchanges = 0;
  const std::function<bool()>* ready = nullptr;  // what ends kWaiting
  jmp_buf stopped;
  ucontext_t start;
#ifdef MUSTER_FIBERS_OF_TSAN
  void* tsan = nullptr;
#endif
};

class Block {
 public:
  explicit Block(unsigned threads) : fibers_(threads), exchange_(2 * threads * kExchangeBytes) {
    stacks_ = static_cast<char*>(mmap(nullptr, threads * kStackBytes, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks_ == MAP_FAILED) Die("no memory for the stacks of a block");
  }
  ~Block() { munmap(stacks_, fibers_.size() * kStackBytes); }

  void Run(const std::function<void()>& thread);
  void Stop(State state);
  void WaitUntil(const std::function<bool()>& ready);
  void* Exchange();

 private:
  static void Enter();
  void Resume(unsigned index);
  bool RunWarp(unsigned first, unsigned end);
  bool All(unsigned first, unsigned end, State state) const;
  void Wake(unsigned first, unsigned end, State state);

  std::vector<Fiber> fibers_;
  std::vector<char> exchange_;
  char* stacks_;
  const std::function<void()>* thread_ = nullptr;
  unsigned running_ = 0;
  jmp_buf scheduler_;
#ifdef MUSTER_FIBERS_OF_TSAN
  void* tsan_scheduler_ = nullptr;
#endif
};

thread_local Block* current_block = nullptr;
thread_local Place here;
thread_local std::vector<char> shared_memory;

void Block::Enter() {
  Block& block = *current_block;
  (*block.thread_)();
  block.Stop(State::kDone);
}

void Block::Resume(unsigned index) {
  Fiber& fiber = fibers_[index];
  running_ = index;
  here.thread = index;
  if (_setjmp(scheduler_) != 0) return;
#ifdef MUSTER_FIBERS_OF_TSAN
  __tsan_switch_to_fiber(fiber.tsan, 0);
#endif
  if (fiber.started) _longjmp(fiber.stopped, 1);
  fiber.started = true;
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = stacks_ + index * kStackBytes;
  fiber.start.uc_stack.ss_size = kStackBytes;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, &Block::Enter, 0);
  setcontext(&fiber.start);
  Die("setcontext failed");
}

void Block::Stop(State state) {
  Fiber& fiber = fibers_[running_];
  fiber.state = state;
  if (_setjmp(fiber.stopped) != 0) return;
#ifdef MUSTER_FIBERS_OF_TSAN
  __tsan_switch_to_fiber(tsan_scheduler_, 0);
#endif
  _longjmp(scheduler_, 1);
}

void Block::WaitUntil(const std::function<bool()>& ready) {
  if (ready()) return;
  fibers_[running_].ready = &ready;
  Stop(State::kWaiting);
}

void* Block::Exchange() {
  const unsigned area = fibers_[running_].exchanges++ % 2;
  const unsigned first = running_ / kWarp * kWarp;
  return &exchange_[(area * fibers_.size() + first) * kExchangeBytes];
}

bool Block::All(unsigned first, unsigned end, State state) const {
  for (unsigned i = first; i < end; ++i)
    if (fibers_[i].state != state && fibers_[i].state != State::kDone) return false;
  return true;
}

void Block::Wake(unsigned first, unsigned end, State state) {
  for (unsigned i = first; i < end; ++i)
    if (fibers_[i].state == state) fibers_[i].state = State::kReady;
}

// Runs until no thread of the warp can continue by itself; false if none could from the start.
bool Block::RunWarp(unsigned first, unsigned end) {
  bool ran = false;
  for (;;) {
    bool now = false;
    for (unsigned i = first; i < end; ++i) {
      Fiber& fiber = fibers_[i];
      if (fiber.state == State::kWaiting && (*fiber.ready)()) fiber.state = State::kReady;
      if (fiber.state != State::kReady) continue;
      Resume(i);
      now = true;
    }
    if (!now) return ran;
    ran = true;
    if (All(first, end, State::kAtWarp)) Wake(first, end, State::kAtWarp);
  }
}

void Block::Run(const std::function<void()>& thread) {
  thread_ = &thread;
  current_block = this;
  for (Fiber& fiber : fibers_) {
    fiber.state = State::kReady;
    fiber.started = false;
    fiber.exchanges = 0;
#ifdef MUSTER_FIBERS_OF_TSAN
    fiber.tsan = __tsan_create_fiber(0);
#endif
  }
#ifdef MUSTER_FIBERS_OF_TSAN
  tsan_scheduler_ = __tsan_get_current_fiber();
#endif
  const auto threads = static_cast<unsigned>(fibers_.size());
  while (!All(0, threads, State::kDone)) {
    bool ran = false;
    for (unsigned first = 0; first < threads; first += kWarp)
      ran |= RunWarp(first, first + kWarp < threads ? first + kWarp : threads);
    if (All(0, threads, State::kAtBlock))
      Wake(0, threads, State::kAtBlock);
    else if (!ran)
      Die("the threads of a block wait for each other at different places");
  }
#ifdef MUSTER_FIBERS_OF_TSAN
  for (Fiber& fiber : fibers_) __tsan_destroy_fiber(fiber.tsan);
#endif
  current_block = nullptr;
}

}  // namespace

const Place& Here() { return here; }
void WaitForBlock() { current_block->Stop(State::kAtBlock); }
void WaitForWarp() { current_block->Stop(State::kAtWarp); }
void WaitUntil(const std::function<bool()>& ready) { current_block->WaitUntil(ready); }

void* SharedBytes(size_t offset, size_t bytes) {
  if (offset + bytes > shared_memory.size()) Die("shared memory that the launch did not ask for");
  return &shared_memory[offset];
}

void* WarpExchange(size_t bytes_per_thread) {
  if (bytes_per_thread > kExchangeBytes) Die("a warp exchanges more than there is room for");
  return current_block->Exchange();
}

void RunGrid(const Launch& launch, bool barriers, const std::function<void()>& thread) {
  std::unique_ptr<Block> block;
  if (barriers) block = std::make_unique<Block>(launch.block.x);
  here.block_threads = launch.block.x;
  here.grid_blocks = launch.grid.x;
  for (here.block_y = 0; here.block_y < launch.grid.y; ++here.block_y) {
    for (here.block_x = 0; here.block_x < launch.grid.x; ++here.block_x) {
      if (block != nullptr) {
        shared_memory.assign(launch.shared_bytes, kUnwritten);
        block->Run(thread);
        continue;
      }
      for (here.thread = 0; here.thread < launch.block.x; ++here.thread) thread();
    }
  }
}

}  // namespace muster::fake_nvidia
