// Protobuf's times as Abseil's.
#pragma once

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"

namespace muster::cli {

inline absl::Time ToTime(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

}  // namespace muster::cli
