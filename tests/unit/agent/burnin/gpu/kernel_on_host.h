// Calls kernels of muster-burnin on the host by name, as the fake driver does.
#pragma once

#include <gtest/gtest.h>

#include "tests/fakes/nvidia/host_kernel.h"

namespace muster::burnin {

template <typename... Arguments>
void LaunchKernel(const char* name, const fake_nvidia::Launch& launch,
                  const Arguments&... arguments) {
  const fake_nvidia::HostKernel kernel = fake_nvidia::FindHostKernel(name);
  ASSERT_NE(kernel, nullptr) << name;
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  kernel(launch, pointers);
}

template <typename... Arguments>
void RunKernel(const char* name, fake_nvidia::Dim3 grid, unsigned threads, Arguments... arguments) {
  LaunchKernel(name, {.grid = grid, .block = {threads, 1, 1}}, arguments...);
}

}  // namespace muster::burnin
