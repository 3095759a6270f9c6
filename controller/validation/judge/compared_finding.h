// What only shows when results are compared with each other.
#pragma once

#include <cstdint>

#include "muster/v1/validation.pb.h"

namespace muster::controller::validation {

// A finding about one of the compared checks, by the number that it was added with.
struct ComparedFinding {
  uint32_t check = 0;
  v1::Finding finding;
};

}  // namespace muster::controller::validation
