// How a receiver has answered.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::controller::notify {

struct Reply {
  // OK: the receiver has taken the message. The error names the receiver and the remedy, never a
  // secret.
  absl::Status status;
  // The receiver has understood the message and does not want it: trying again is of no use.
  bool is_final = false;
  std::string answer;  // the receiver's own words: "200 ok", "250 2.0.0 Ok: queued"; one line
};

}  // namespace muster::controller::notify
