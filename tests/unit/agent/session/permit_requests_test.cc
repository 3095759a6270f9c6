// The step that asks and the session that carries the question, without a controller.
#include "agent/session/permit_requests.h"

#include <atomic>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/session/mailbox.h"
#include "tests/fakes/fake_accounts.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_file_system.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::agent {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

class PermitRequestsTest : public ::testing::Test {
 protected:
  PermitRequestsTest() { files_.AddDirectory("/proc/1"); }
  ~PermitRequestsTest() override { Stop(); }

  void AddJob(const std::string& pid, const std::string& job) {
    files_.AddFile("/proc/" + pid + "/cmdline", "slurmstepd: [" + job + ".batch]");
    files_.AddFile("/proc/" + pid + "/status", "Uid:\t0\t0\t0\t0\n");
  }
  // Lets a step ask, in a thread of its own.
  void Ask() {
    ended_ = false;
    stop_ = false;
    thread_ = std::thread([this] {
      end_ = requests_.Ask("r-1/0", "kernel/reboot", "a newer kernel",
                           [this] { return stop_.load(); });
      ended_ = true;
    });
  }
  void Stop() {
    stop_ = true;
    if (!thread_.joinable()) return;
    // A wait polls for the stop now and then, by this clock.
    while (!ended_) {
      clock_.Advance(absl::Milliseconds(200));
      absl::SleepFor(absl::Milliseconds(1));
    }
    thread_.join();
  }
  // The result of the step's question, within moments.
  absl::StatusOr<v1::RebootPermit> End() {
    thread_.join();
    return end_;
  }
  // The question that the session has to send now; fails the test if none comes. Between two looks
  // so much time passes: a wait may have begun later than the test knows.
  v1::RebootRequest MustTake(absl::Duration pass = absl::ZeroDuration()) {
    for (int i = 0; i < 2000; ++i) {
      if (std::optional<v1::RebootRequest> question = requests_.TakeDue()) return *question;
      clock_.Advance(pass);
      absl::SleepFor(absl::Milliseconds(5));
    }
    ADD_FAILURE() << "no question";
    return {};
  }
  static std::vector<std::string> JobsIn(const v1::RebootRequest& question) {
    std::vector<std::string> ids;
    for (const v1::SlurmJobInfo& job : question.running_jobs()) ids.push_back(job.id());
    return ids;
  }
  static v1::RebootAnswer PermitFor(const v1::RebootRequest& question) {
    v1::RebootAnswer answer;
    answer.set_plan_id(question.plan_id());
    answer.set_step_id(question.step_id());
    answer.set_request_id(question.request_id());
    answer.mutable_permit()->set_permit_id("p1");
    answer.mutable_permit()->set_boot_id(question.boot_id());
    return answer;
  }
  // Long enough for a step that had been answered to continue.
  bool StillAsks() {
    absl::SleepFor(absl::Milliseconds(100));
    return !ended_;
  }

  muster::testing::FakeClock clock_;
  muster::testing::FakeFileSystem files_;
  Mailbox mailbox_{[](absl::string_view) {}};
  muster::testing::FakeAccounts accounts_;
  PermitRequests requests_{"boot-1", files_, accounts_, mailbox_, clock_};
  std::atomic<bool> stop_{false}, ended_{false};
  absl::StatusOr<v1::RebootPermit> end_ = absl::UnknownError("no end");
  std::thread thread_;
};

TEST_F(PermitRequestsTest, NothingIsDueBeforeAStepAsks) {
  EXPECT_EQ(requests_.TakeDue(), std::nullopt);
  EXPECT_FALSE(mailbox_.Take(clock_, clock_.Now()).woken);
}

TEST_F(PermitRequestsTest, AQuestionIsSentOnceAndItsPermitGoesToTheStep) {
  AddJob("812", "1234");
  AddJob("813", "1235_7");
  Ask();
  const v1::RebootRequest question = MustTake();
  // The session is told a moment after the question is there.
  bool woken = false;
  for (int i = 0; i < 2000 && !woken; ++i) {
    woken = mailbox_.Take(clock_, clock_.Now()).woken;
    if (!woken) absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(woken);
  EXPECT_EQ(question.plan_id(), "r-1/0");
  EXPECT_EQ(question.step_id(), "kernel/reboot");
  EXPECT_EQ(question.boot_id(), "boot-1");
  EXPECT_EQ(question.reason(), "a newer kernel");
  EXPECT_THAT(question.request_id(), Not(IsEmpty()));
  EXPECT_THAT(JobsIn(question), ElementsAre("1234", "1235_7"));
  EXPECT_EQ(requests_.TakeDue(), std::nullopt);
  EXPECT_TRUE(StillAsks());
  requests_.OnAnswer(PermitFor(question));
  const auto permit = End();
  ASSERT_OK(permit);
  EXPECT_EQ(permit->permit_id(), "p1");
}

TEST_F(PermitRequestsTest, ARefusalIsTheStepsError) {
  Ask();
  v1::RebootAnswer answer = PermitFor(MustTake());
  answer.set_refusal("job 7 runs on c001");
  requests_.OnAnswer(answer);
  EXPECT_THAT(End().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "job 7 runs on c001"));
}

TEST_F(PermitRequestsTest, AnswersToOtherQuestionsChangeNothing) {
  v1::RebootAnswer stray;
  stray.mutable_permit()->set_permit_id("stray");
  requests_.OnAnswer(stray);  // nobody asked
  Ask();
  const v1::RebootRequest question = MustTake();
  requests_.OnAnswer(stray);
  stray.set_plan_id(question.plan_id());
  stray.set_step_id(question.step_id());
  stray.set_request_id("an earlier life's");
  requests_.OnAnswer(stray);
  v1::RebootAnswer empty = PermitFor(question);
  empty.clear_answer();
  requests_.OnAnswer(empty);  // from a newer controller, which this agent does not understand
  EXPECT_TRUE(StillAsks());
  requests_.OnAnswer(PermitFor(question));
  EXPECT_EQ(End()->permit_id(), "p1");
}

TEST_F(PermitRequestsTest, AQuestionIsRepeatedWithTheJobsOfThatMoment) {
  AddJob("812", "1234");
  Ask();
  const v1::RebootRequest first = MustTake();
  clock_.Advance(PermitRequests::kRepeat - absl::Seconds(1));
  EXPECT_TRUE(StillAsks());
  EXPECT_EQ(requests_.TakeDue(), std::nullopt);
  AddJob("812", "99");
  clock_.Advance(absl::Seconds(2));
  const v1::RebootRequest second = MustTake(absl::Milliseconds(200));
  ASSERT_EQ(second.request_id(), first.request_id());
  EXPECT_THAT(JobsIn(first), ElementsAre("1234"));
  EXPECT_THAT(JobsIn(second), ElementsAre("99"));
  requests_.OnAnswer(PermitFor(first));
  EXPECT_OK(End());
}

TEST_F(PermitRequestsTest, AClockThatIsSetBackDoesNotSilenceTheQuestion) {
  Ask();
  const v1::RebootRequest first = MustTake();
  clock_.Advance(-absl::Hours(1));
  // Seconds, and not an hour: no more than 2000 looks.
  const v1::RebootRequest second = MustTake(absl::Milliseconds(200));
  ASSERT_EQ(second.request_id(), first.request_id());
  requests_.OnAnswer(PermitFor(second));
  EXPECT_OK(End());
}

TEST_F(PermitRequestsTest, StoppingEndsTheQuestion) {
  Ask();
  const v1::RebootRequest question = MustTake();
  Stop();
  EXPECT_THAT(end_.status(), StatusIs(absl::StatusCode::kCancelled, Said()));
  // Its answer comes too late, and is not the next question's.
  Ask();
  requests_.OnAnswer(PermitFor(question));
  const v1::RebootRequest next = MustTake();
  EXPECT_NE(next.request_id(), question.request_id());
  requests_.OnAnswer(PermitFor(question));
  EXPECT_TRUE(StillAsks());
  requests_.OnAnswer(PermitFor(next));
  EXPECT_OK(End());
  EXPECT_EQ(requests_.TakeDue(), std::nullopt);
}

TEST(PermitRequests, AsksNothingWhereItCannotTellWhatRuns) {
  muster::testing::FakeClock clock;
  muster::testing::FakeFileSystem files;  // without /proc
  Mailbox mailbox([](absl::string_view) {});
  muster::testing::FakeAccounts accounts;
  PermitRequests requests("boot-1", files, accounts, mailbox, clock);
  EXPECT_THAT(requests.Ask("r-1/0", "s", "why", [] { return false; }).status(),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_EQ(requests.TakeDue(), std::nullopt);
}

}  // namespace
}  // namespace muster::agent
