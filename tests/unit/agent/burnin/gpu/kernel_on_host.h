// Calls kernels of muster-burnin on the host by name, as the fake driver does.
#pragma once

#include <gtest/gtest.h>

#include "tests/fakes/nvidia/host_kernel.h"

namespace muster::burnin {

template <typename... Arguments>
void RunKernel(const char* name, fake_nvidia::Dim3 grid, unsigned threads, Arguments... arguments) {
  const fake_nvidia::HostKernel kernel = fake_nvidia::FindHostKernel(name);
  ASSERT_NE(kernel, nullptr) << name;
  void* pointers[] = {&arguments...};
  kernel({.grid = grid, .block = {threads, 1, 1}}, pointers);
}

}  // namespace muster::burnin
