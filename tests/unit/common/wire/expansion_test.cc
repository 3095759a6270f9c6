#include "common/wire/expansion.h"

#include <string>

#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <gtest/gtest.h>

#include "muster/v1/agent_session.pb.h"
#include "tests/fixtures/field_walk.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::wire {
namespace {

using ::muster::testing::FieldPath;
using ::muster::testing::StatusIs;
using ::muster::testing::WalkFields;
using ::testing::_;

constexpr size_t kLimit = size_t{16} << 20;

absl::Status Measure(const std::string& bytes, size_t limit = kLimit) {
  static const auto& meter = *new ExpansionMeter(*v1::AgentMessage::descriptor());
  google::protobuf::io::ArrayInputStream in(bytes.data(), static_cast<int>(bytes.size()));
  return meter.Check(in, limit);
}

// A million of them are 2 MiB of a message, and took the controller to 1.65 GB.
TEST(ExpansionTest, EmptyElementsAreCountedAsWhatTheyTake) {
  WalkFields(*v1::AgentMessage::descriptor(), [](const FieldPath& path) {
    if (!path.field().is_repeated() || path.field().is_map()) return;  // equal keys are one entry
    SCOPED_TRACE(path.name());
    v1::AgentMessage message;
    google::protobuf::Message* owner = path.Owner(message);
    for (int i = 0; i < 50'000; ++i) {
      if (path.field().message_type() != nullptr) {
        owner->GetReflection()->AddMessage(owner, &path.field());
      } else {
        owner->GetReflection()->AddString(owner, &path.field(), "");
      }
    }
    const std::string bytes = message.SerializeAsString();
    EXPECT_THAT(Measure(bytes, 20 * bytes.size()),
                StatusIs(absl::StatusCode::kResourceExhausted, _));
  });
}

TEST(ExpansionTest, NeverTellsMuchLessThanIsTaken) {
  WalkFields(*v1::AgentMessage::descriptor(), [](const FieldPath& path) {
    if (path.field().is_map()) return;  // whose reflection takes as much again
    v1::AgentMessage message;
    google::protobuf::Message* owner = path.Owner(message);
    const google::protobuf::Reflection& reflection = *owner->GetReflection();
    const bool is_text =
        path.field().cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
    if (!path.field().is_repeated()) {
      if (!is_text) return;
      path.SetText(message, std::string(100'000, 'x'));
    } else {
      for (int i = 0; i < 1000; ++i) {
        if (is_text) {
          reflection.AddString(owner, &path.field(), "a text that is not inline");
        } else {
          reflection.AddMessage(owner, &path.field());
        }
      }
    }
    v1::AgentMessage parsed;
    ASSERT_TRUE(parsed.ParseFromString(message.SerializeAsString()));
    const size_t taken = parsed.SpaceUsedLong();
    EXPECT_THAT(Measure(message.SerializeAsString(), taken * 8 / 10),
                StatusIs(absl::StatusCode::kResourceExhausted, _))
        << path.name() << " takes " << taken;
    EXPECT_OK(Measure(message.SerializeAsString(), taken * 3)) << path.name();
  });
}

TEST(ExpansionTest, AnHonestResultWithAllItsCurvesPasses) {
  v1::AgentMessage message;
  v1::CheckResult& result = *message.mutable_check_report()->mutable_result();
  for (int i = 0; i < 4800; ++i) {
    v1::Sample& sample = *result.add_samples();
    sample.set_subject("GPU-5d6a2c7b-8c39-0d2f-1111-222233334444");
    sample.set_metric("temperature_celsius");
    sample.set_variant("fp16 8192");
    sample.set_value(i);
    sample.set_at_s(i);
  }
  for (int i = 0; i < 5000; ++i)
    *result.add_metrics()->mutable_subject() = "GPU-5d6a2c7b-8c39-0d2f";
  EXPECT_OK(Measure(message.SerializeAsString()));
}

TEST(ExpansionTest, UnknownFieldsCountToo) {
  v1::AgentMessage message;
  google::protobuf::UnknownFieldSet& unknown =
      *message.GetReflection()->MutableUnknownFields(&message);
  for (int i = 0; i < 500'000; ++i) unknown.AddLengthDelimited(1000, "");
  EXPECT_THAT(Measure(message.SerializeAsString()),
              StatusIs(absl::StatusCode::kResourceExhausted, _));
}

TEST(ExpansionTest, WhatIsNoMessageIsToldApart) {
  for (const char* noise : {"\xff\xff\xff\xff noise", "\x2a\x7f", "\x2b\x2b\x2b",
                            "\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "\x0d\x01"}) {
    EXPECT_THAT(Measure(noise), StatusIs(absl::StatusCode::kInvalidArgument, _));
  }
}

}  // namespace
}  // namespace muster::wire
