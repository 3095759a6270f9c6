// The part of NCCL's binary interface that is used here: types and numbers of nccl.h.
#pragma once

#include <cstddef>

#include "agent/burnin/gpu/driver/cuda_abi.h"

namespace muster::burnin::nccl {

using Communicator = void*;

inline constexpr int kFloat32 = 7;  // ncclDataType_t
inline constexpr int kSum = 0;      // ncclRedOp_t

// X(result, member, symbol, parameters). An enum is passed as the int that it is.
#define MUSTER_NCCL_FUNCTIONS(X)                                           \
  X(int, GetVersion, "ncclGetVersion", (int*))                             \
  X(const char*, GetErrorString, "ncclGetErrorString", (int))              \
  X(int, CommInitAll, "ncclCommInitAll", (Communicator*, int, const int*)) \
  X(int, CommDestroy, "ncclCommDestroy", (Communicator))                   \
  X(int, GroupStart, "ncclGroupStart", ())                                 \
  X(int, GroupEnd, "ncclGroupEnd", ())                                     \
  X(int, AllReduce, "ncclAllReduce",                                       \
    (const void*, void*, size_t, int, int, Communicator, cuda::Stream))

struct Functions {
#define MUSTER_NCCL_MEMBER(result, member, symbol, parameters) result(*member) parameters = nullptr;
  MUSTER_NCCL_FUNCTIONS(MUSTER_NCCL_MEMBER)
#undef MUSTER_NCCL_MEMBER
};

}  // namespace muster::burnin::nccl
