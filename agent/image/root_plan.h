// A plan as it is run in a root whose system is not running. Pure.
#pragma once

#include "muster/v1/plan.pb.h"

namespace muster::agent {

// Why a step is skipped that only the booted node can carry out.
inline constexpr char kOnlyOnNode[] = "only on a running node";

// `plan` with kOnlyOnNode as the skip reason of every step and handler of which nothing can be done
// in a root: by its kind (InRootOf), or because it says no more than that a unit runs. Its digest
// is cleared.
v1::Plan PlanForRoot(v1::Plan plan);

}  // namespace muster::agent
