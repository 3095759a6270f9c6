#include "cli/watch/patience.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"

namespace muster::cli {
namespace {

constexpr char kAway[] =
    "no connection to the controller; trying again for 2m (the nodes continue)\n";
constexpr char kBack[] = "connected to the controller again\n";

class PatienceTest : public ::testing::Test {
 protected:
  muster::testing::FakeClock clock_;
  int renewals_ = 0;
  std::string said_;
  Patience patience_{clock_, [this] { ++renewals_; },
                     [this](absl::string_view text) { said_.append(text.data(), text.size()); }};
};

TEST_F(PatienceTest, TriesAgainByANewConnectionAfterAPause) {
  const absl::Time begin = clock_.Now();
  EXPECT_TRUE(patience_.Await(absl::UnavailableError("connection refused")).ok());
  EXPECT_EQ(clock_.Now() - begin, Patience::kPause);
  EXPECT_EQ(renewals_, 1);
}

TEST_F(PatienceTest, SaysOnceThatTheControllerIsAwayAndOnceThatItIsBack) {
  patience_.OnAnswer();
  EXPECT_EQ(said_, "");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(patience_.Await(absl::UnavailableError("connection refused")).ok());
  }
  EXPECT_EQ(said_, kAway);
  patience_.OnAnswer();
  patience_.OnAnswer();
  EXPECT_EQ(said_, std::string(kAway) + kBack);
}

TEST_F(PatienceTest, AShortBreakIsNotTold) {
  EXPECT_TRUE(patience_.Await(absl::UnavailableError("Socket closed")).ok());
  patience_.OnSilence();
  patience_.OnAnswer();
  // Nor does it count towards the next one.
  EXPECT_TRUE(patience_.Await(absl::UnavailableError("Socket closed")).ok());
  patience_.OnAnswer();
  EXPECT_EQ(said_, "");
}

TEST_F(PatienceTest, AnAttemptThatHangsIsToldMeanwhile) {
  EXPECT_TRUE(patience_.Await(absl::UnavailableError("Socket closed")).ok());
  clock_.Advance(Patience::kQuiet - Patience::kPause);
  patience_.OnSilence();
  patience_.OnSilence();
  EXPECT_EQ(said_, kAway);
}

TEST_F(PatienceTest, GivesUpWithTheLastErrorAfterTheLimit) {
  const absl::Time begin = clock_.Now();
  absl::Status last;
  while (last.ok() && clock_.Now() < begin + 2 * Patience::kLimit) {
    last = patience_.Await(absl::UnavailableError("connection refused"));
  }
  EXPECT_EQ(last, absl::UnavailableError("connection refused"));
  EXPECT_EQ(clock_.Now() - begin, Patience::kLimit);
}

TEST_F(PatienceTest, WithoutALimitItNeverGivesUpAndSaysSo) {
  Patience patience(
      clock_, [] {}, [this](absl::string_view text) { said_.append(text.data(), text.size()); },
      absl::InfiniteDuration());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(patience.Await(absl::UnavailableError("connection refused")).ok());
    clock_.Advance(10 * Patience::kLimit);
  }
  EXPECT_EQ(said_,
            "no connection to the controller; trying again until there is one (the nodes "
            "continue)\n");
}

TEST_F(PatienceTest, EachAbsenceHasTheWholeLimit) {
  for (int absence = 0; absence < 2; ++absence) {
    SCOPED_TRACE(absence);
    EXPECT_TRUE(patience_.Await(absl::UnavailableError("connection refused")).ok());
    clock_.Advance(Patience::kLimit - 2 * Patience::kPause);
    EXPECT_TRUE(patience_.Await(absl::UnavailableError("connection refused")).ok());
    patience_.OnAnswer();
  }
}

TEST_F(PatienceTest, KnowsWhatARestartEndsStreamsWith) {
  const struct {
    absl::Status status;
    bool passes;
  } kCases[] = {
      {absl::OkStatus(), true},
      {absl::UnavailableError("the controller is stopping"), true},
      {absl::CancelledError("cancelled"), true},
      {absl::UnknownError("stream removed"), true},
      {absl::NotFoundError("no such run"), false},
      {absl::PermissionDeniedError("viewer"), false},
      {absl::DeadlineExceededError("too late"), false},
      {absl::InternalError("corrupt"), false},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(row.status.ToString());
    EXPECT_EQ(patience_.Await(row.status), row.passes ? absl::OkStatus() : row.status);
  }
}

TEST_F(PatienceTest, AStreamThatEndsWellBeforeItsEndIsAnErrorInTheEnd) {
  EXPECT_TRUE(patience_.Await(absl::OkStatus()).ok());
  clock_.Advance(Patience::kLimit);
  EXPECT_TRUE(absl::IsUnavailable(patience_.Await(absl::OkStatus())));
}

}  // namespace
}  // namespace muster::cli
