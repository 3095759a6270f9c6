#include "agent/slurm/slurm_requests.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/base/clock.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;

v1::SlurmRequest Request(const std::string& id) {
  v1::SlurmRequest request;
  request.set_request_id(id);
  return request;
}

class SlurmRequestsTest : public ::testing::Test {
 protected:
  ~SlurmRequestsTest() override { LetPass(1000); }

  void LetPass(int count) {
    absl::MutexLock lock(&mutex_);
    may_pass_ += count;
  }
  void AwaitTaken(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    const auto is_taken = [&] { return taken_ == id; };
    ASSERT_TRUE(mutex_.AwaitWithTimeout(absl::Condition(&is_taken), absl::Seconds(10)));
  }
  // Ids of the answers to send, once there are so many.
  std::vector<std::string> Due(size_t count) {
    std::vector<std::string> ids;
    while (ids.size() < count) {
      {
        absl::MutexLock lock(&mutex_);
        if (!mutex_.AwaitWithTimeout(absl::Condition(&woken_), absl::Seconds(10))) break;
        woken_ = false;
      }
      for (const v1::AgentMessage& message : requests_.TakeDue()) {
        const v1::SlurmAnswer& answer = message.slurm_answer();
        ids.push_back(absl::StrCat(answer.request_id(), answer.code() == 0 ? "" : " refused"));
      }
    }
    return ids;
  }

  absl::Mutex mutex_;
  int may_pass_ = 0;
  bool woken_ = false;
  std::string taken_;
  RealClock clock_;
  SlurmRequests requests_{[this](const v1::SlurmRequest& request) {
                            absl::MutexLock lock(&mutex_);
                            taken_ = request.request_id();
                            const auto may_pass = [this] { return may_pass_ > 0; };
                            mutex_.Await(absl::Condition(&may_pass));
                            --may_pass_;
                            v1::SlurmAnswer answer;
                            answer.set_request_id(request.request_id());
                            return answer;
                          },
                          [this] {
                            absl::MutexLock lock(&mutex_);
                            woken_ = true;
                          },
                          clock_};
};

TEST_F(SlurmRequestsTest, AnswersInOrderAndOneAtATime) {
  requests_.Start(Request("a"));
  requests_.Start(Request("b"));
  AwaitTaken("a");
  LetPass(1);
  AwaitTaken("b");
  EXPECT_THAT(Due(1), ElementsAre("a"));
  LetPass(1);
  EXPECT_THAT(Due(1), ElementsAre("b"));
}

TEST_F(SlurmRequestsTest, RefusesWhatIsTooMuch) {
  requests_.Start(Request("first"));
  AwaitTaken("first");
  for (size_t i = 0; i < SlurmRequests::kMaxWaiting; ++i) requests_.Start(Request(absl::StrCat(i)));
  requests_.Start(Request("more"));
  EXPECT_THAT(Due(1), ElementsAre("more refused"));
}

// The controller would take such an answer for an unsolicited one.
TEST_F(SlurmRequestsTest, ANewConnectionGetsNoAnswersToQuestionsOfTheLast) {
  requests_.Start(Request("a"));
  requests_.Start(Request("b"));
  AwaitTaken("a");
  requests_.OnConnected();
  requests_.Start(Request("c"));
  LetPass(2);
  EXPECT_THAT(Due(1), ElementsAre("c"));
  EXPECT_TRUE(requests_.TakeDue().empty());
}

}  // namespace
}  // namespace muster::agent
