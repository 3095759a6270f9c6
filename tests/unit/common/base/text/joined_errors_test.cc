#include "common/base/text/joined_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ErrorTexts Numbered(size_t count) {
  ErrorTexts errors;
  for (size_t i = 0; i < count; ++i) errors.texts.push_back(absl::StrCat("error <", i, ">"));
  return errors;
}

TEST(JoinedErrors, AreOneStatusAndComeApartAgain) {
  const absl::Status status = JoinErrors(kInvalid, {{"a:1: x\n  1 | y", "b"}, 0}, "\n");
  EXPECT_EQ(status.code(), kInvalid);
  EXPECT_EQ(status.message(), "a:1: x\n  1 | y\nb");
  EXPECT_TRUE(HasErrors(status));
  EXPECT_THAT(ErrorsOf(status).texts, ElementsAre("a:1: x\n  1 | y", "b"));
  EXPECT_EQ(ErrorsOf(status).more, 0u);
  EXPECT_TRUE(JoinErrors(kInvalid, {}, "\n").ok());
}

TEST(JoinedErrors, TheMessageShowsTwentyAndTheListHasAll) {
  const absl::Status status = JoinErrors(kInvalid, Numbered(50), "\n");
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("<19>"), Not(HasSubstr("<20>")), EndsWith("\n… and 30 more errors")));
  EXPECT_THAT(ErrorsOf(status).texts, SizeIs(50));
}

TEST(JoinedErrors, AreBoundedAndTheRestIsCounted) {
  const absl::Status many = JoinErrors(kInvalid, Numbered(kMaxJoinedErrors + 5), "\n");
  EXPECT_THAT(ErrorsOf(many).texts, SizeIs(kMaxJoinedErrors));
  EXPECT_EQ(ErrorsOf(many).more, 5u);
  ErrorTexts large;
  large.texts.assign(4, std::string(kMaxJoinedBytes / 2, 'x'));
  const absl::Status cut = JoinErrors(kInvalid, std::move(large), "\n");
  EXPECT_THAT(ErrorsOf(cut).texts, SizeIs(2));
  EXPECT_EQ(ErrorsOf(cut).more, 2u);
}

TEST(JoinedErrors, AnotherStatusIsItsMessage) {
  const absl::Status other = absl::NotFoundError("no run r-1");
  EXPECT_FALSE(HasErrors(other));
  EXPECT_THAT(ErrorsOf(other).texts, ElementsAre("no run r-1"));
  EXPECT_THAT(ErrorsOf(absl::OkStatus()).texts, SizeIs(0));
}

TEST(JoinedErrors, ANulWithinOneMakesNoTwo) {
  const absl::Status status = JoinErrors(kInvalid, {{std::string("a\0b", 3), "c"}, 0}, "\n");
  EXPECT_THAT(ErrorsOf(status).texts, ElementsAre("ab", "c"));
}

}  // namespace
}  // namespace muster
