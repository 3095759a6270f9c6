// A machine's serial console, as its BMC hands it on.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace muster::controller::console {

// Listens, and never writes. The connection begins with the object and ends with it. One thread.
class ConsoleLine {
 public:
  virtual ~ConsoleLine() = default;
  // Appends what has come, `limit` bytes at most, to *bytes. Does not block. After an error the
  // line is dead. Unavailable: no answer, or not any more; try again. Unauthenticated: wrong user
  // or password. FailedPrecondition: the BMC refuses; the message has the remedy. Errors name no
  // secret.
  virtual absl::Status Read(size_t limit, std::string* bytes) = 0;
  // Whether the BMC hands on what the machine writes; false at first.
  virtual bool is_established() const = 0;
};

}  // namespace muster::controller::console
