#include "common/base/proto_time.h"

#include <cstdint>

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

namespace muster {

google::protobuf::Timestamp ToTimestamp(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounds down, so nanos are positive
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return timestamp;
}

google::protobuf::Duration ToProtoDuration(absl::Duration duration) {
  google::protobuf::Duration out;
  absl::Duration rest;
  // Rounds towards zero, so both parts have the same sign, as protobuf requires.
  out.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  return out;
}

absl::Time ToTime(const google::protobuf::Timestamp& timestamp) {
  return absl::FromUnixSeconds(timestamp.seconds()) + absl::Nanoseconds(timestamp.nanos());
}

absl::Duration ToDuration(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos());
}

}  // namespace muster
