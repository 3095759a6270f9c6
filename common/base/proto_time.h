// Conversion between Abseil's times and protobuf's. Times that protobuf cannot hold (years before 1
// or after 9999, infinity) never occur in our messages.
#pragma once

#include "absl/time/time.h"

namespace google::protobuf {
class Duration;
class Timestamp;
}  // namespace google::protobuf

namespace muster {

google::protobuf::Timestamp ToTimestamp(absl::Time time);
google::protobuf::Duration ToProtoDuration(absl::Duration duration);
absl::Time ToTime(const google::protobuf::Timestamp& timestamp);
absl::Duration ToDuration(const google::protobuf::Duration& duration);

}  // namespace muster
