// gMock matchers for absl::Status and absl::StatusOr.
//
//   EXPECT_THAT(Parse("x"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 1")));
//   ASSERT_OK(store.Update(…));
#pragma once

#include <string>

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message, "") {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code && ::testing::Matches(::testing::Matcher<std::string>(message))(
                                      std::string(status.message()));
}

}  // namespace muster::testing

#define ASSERT_OK(expression) ASSERT_THAT(expression, ::muster::testing::IsOk())
#define EXPECT_OK(expression) EXPECT_THAT(expression, ::muster::testing::IsOk())
