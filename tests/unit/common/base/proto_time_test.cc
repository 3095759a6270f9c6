#include "common/base/proto_time.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>
#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(ProtoTime, KeepsNanosecondsBothWays) {
  const absl::Time time = absl::FromUnixNanos(1'700'000'000'123'456'789);
  EXPECT_EQ(ToTimestamp(time).seconds(), 1'700'000'000);
  EXPECT_EQ(ToTimestamp(time).nanos(), 123'456'789);
  EXPECT_EQ(ToTime(ToTimestamp(time)), time);
}

TEST(ProtoTime, ATimeBefore1970HasPositiveNanos) {
  const absl::Time time = absl::FromUnixNanos(-1);
  EXPECT_EQ(ToTimestamp(time).seconds(), -1);
  EXPECT_EQ(ToTimestamp(time).nanos(), 999'999'999);
  EXPECT_EQ(ToTime(ToTimestamp(time)), time);
}

TEST(ProtoTime, ADurationHasOneSign) {
  for (const absl::Duration duration : {absl::Milliseconds(1500), absl::Milliseconds(-1500)}) {
    const google::protobuf::Duration proto = ToProtoDuration(duration);
    EXPECT_EQ(proto.seconds(), duration < absl::ZeroDuration() ? -1 : 1);
    EXPECT_EQ(proto.nanos(), duration < absl::ZeroDuration() ? -500'000'000 : 500'000'000);
    EXPECT_EQ(ToDuration(proto), duration);
  }
}

}  // namespace
}  // namespace muster
