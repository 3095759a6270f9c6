// Kernels of agent/burnin/gpu/kernels, compiled for the host: what the fake driver launches.
#pragma once

#include <cstddef>

namespace muster::fake_nvidia {

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

// The arguments of cuLaunchKernel().
struct Launch {
  Dim3 grid;
  Dim3 block;
  size_t shared_bytes = 0;
};

// `arguments` has a pointer to each parameter of the kernel, as for cuLaunchKernel(); device
// pointers in them are addresses of the host. Blocks until all threads of the grid are done.
using HostKernel = void (*)(const Launch& launch, void** arguments);

// By the name of the PTX entry; nullptr when there is none. Thread-safe.
HostKernel FindHostKernel(const char* name);

}  // namespace muster::fake_nvidia
