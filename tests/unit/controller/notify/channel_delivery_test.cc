#include "controller/notify/channel_delivery.h"

#include <atomic>
#include <functional>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/fakes/failing_store.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Reply Ok() { return {absl::OkStatus(), false, "200"}; }
Reply Down() { return {absl::UnavailableError("it is down"), false, ""}; }
Reply Refused() { return {absl::FailedPreconditionError("it says no"), true, "400"}; }

// A receiver that answers as it is told, and remembers. Shared by channels as a receiver is.
struct Receiver {
  struct Got {
    std::string id;
    size_t records;
    std::string title;
  };
  std::vector<Got> got() {
    absl::MutexLock lock(&mutex);
    return messages;
  }
  void Answer(std::function<Reply()> with) {
    absl::MutexLock lock(&mutex);
    answer = std::move(with);
  }

  absl::Mutex mutex;
  std::vector<Got> messages;
  std::function<Reply()> answer = Ok;
};

class FakeChannel final : public Channel {
 public:
  FakeChannel(Receiver& receiver, bool keeps_state)
      : receiver_(receiver), keeps_state_(keeps_state) {}
  Reply Send(const Message& message, const std::function<bool()>&) override {
    std::function<Reply()> answer;
    {
      absl::MutexLock lock(&receiver_.mutex);
      receiver_.messages.push_back({message.id, message.records.size(), message.Title()});
      answer = receiver_.answer;
    }
    return answer();
  }
  bool keeps_state() const override { return keeps_state_; }

 private:
  Receiver& receiver_;
  const bool keeps_state_;
};

class ChannelDeliveryTest : public NotifyTest {
 protected:
  std::unique_ptr<ChannelDelivery> Start(bool keeps_state = false, Store* store = nullptr) {
    auto delivery = std::make_unique<ChannelDelivery>(
        store == nullptr ? *store_ : *store, clock_, channels_[0],
        std::make_unique<FakeChannel>(receiver_, keeps_state), "lab", counts_);
    delivery->Start();
    return delivery;
  }
  // Real time passes until it holds.
  static bool Soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }
  bool SoonDelivered(size_t count) {
    return Soon([&] { return Pending("chat").empty() && counts_->delivered == count; });
  }

  Receiver receiver_;
  std::shared_ptr<DeliveryCounts> counts_ = std::make_shared<DeliveryCounts>();
};

TEST_F(ChannelDeliveryTest, WhatWaitsIsDelivered) {
  Record(Bad("c001"));
  const auto delivery = Start();
  ASSERT_TRUE(SoonDelivered(1));
  Record(Bad("c002"));
  delivery->Wake();
  ASSERT_TRUE(SoonDelivered(2));
  EXPECT_THAT(receiver_.got(), SizeIs(2));
  EXPECT_EQ(Summary("chat").delivered_at, kNow);
  EXPECT_EQ(Summary("chat").error, "");
}

TEST_F(ChannelDeliveryTest, AReceiverThatIsDownIsTriedAgainUnderTheSameId) {
  receiver_.Answer(Down);
  Record(Bad("c001"));
  const auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return Summary("chat").error == "it is down"; }));
  // A further one does not make it try at once.
  Record(Bad("c002"));
  delivery->Wake();
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_THAT(receiver_.got(), SizeIs(1));
  receiver_.Answer(Ok);
  clock_.Advance(ChannelDelivery::kLongestRetry);
  ASSERT_TRUE(SoonDelivered(2));
  const auto got = receiver_.got();
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_EQ(got[0].id, got[1].id);
  EXPECT_NE(got[1].id, got[2].id);
  EXPECT_EQ(Summary("chat").error, "");
}

TEST_F(ChannelDeliveryTest, ARestartSendsTheSameMessage) {
  receiver_.Answer(Down);
  Record(Bad("c001"));
  auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return Summary("chat").error == "it is down"; }));
  delivery.reset();
  Record(Bad("c002"));
  receiver_.Answer(Ok);
  delivery = Start();
  ASSERT_TRUE(SoonDelivered(2));
  const auto got = receiver_.got();
  ASSERT_THAT(got, SizeIs(3));
  EXPECT_EQ(got[1].id, got[0].id);
  EXPECT_EQ(got[1].records, 1u);
}

TEST_F(ChannelDeliveryTest, ARefusedMessageHoldsUpNothing) {
  receiver_.Answer(Refused);
  Record(Bad("c001"));
  const auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return Pending("chat").empty(); }));
  EXPECT_EQ(Summary("chat").error, "it says no");
  receiver_.Answer(Ok);
  Record(Bad("c002"));
  delivery->Wake();
  ASSERT_TRUE(SoonDelivered(1));
  EXPECT_EQ(counts_->failed, 1u);
}

TEST_F(ChannelDeliveryTest, AfterADayItHasFailed) {
  receiver_.Answer(Down);
  Record(Bad("c001"));
  clock_.Advance(ChannelDelivery::kGivenUp + absl::Minutes(1));
  const auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return Pending("chat").empty() && counts_->failed == 1; }));
}

// After a night without the receiver, what happened in it and what happened now are one message.
TEST_F(ChannelDeliveryTest, WhatIsNewDoesNotFailWithWhatIsOld) {
  receiver_.Answer(Down);
  Record(Bad("c001"));
  clock_.Advance(ChannelDelivery::kGivenUp - absl::Minutes(1));
  Record(Bad("c002"));
  clock_.Advance(absl::Minutes(2));
  const auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return !receiver_.got().empty(); }));
  EXPECT_EQ(counts_->failed, 0u);
  receiver_.Answer(Ok);
  ASSERT_TRUE(Soon([&] {
    clock_.Advance(ChannelDelivery::kFirstRetry);
    return counts_->delivered == 2;
  }));
}

TEST_F(ChannelDeliveryTest, ManyAreOneMessage) {
  for (int i = 100; i < 400; ++i) Record(Bad(absl::StrCat("c", i)));
  const auto delivery = Start();
  ASSERT_TRUE(SoonDelivered(300));
  ASSERT_THAT(receiver_.got(), SizeIs(1));
  EXPECT_THAT(receiver_.got()[0].title, HasSubstr("c[100-399]"));
}

TEST_F(ChannelDeliveryTest, AFullStoreSendsNothingTwice) {
  muster::testing::FailingStore failing(std::move(store_));
  Store& below = failing.below();
  std::set<std::string> woken;
  ASSERT_OK(below.Update(
      [&](Transaction& txn) { return notify::Record(txn, Bad("c001"), channels_, kNow, &woken); }));
  // The disk fills up between the message and its outcome.
  std::atomic<bool> is_full{false};
  receiver_.Answer([&] {
    is_full = true;
    failing.refuse = true;
    return Ok();
  });
  auto delivery = Start(false, &failing);
  ASSERT_TRUE(Soon([&] { return is_full.load(); }));
  for (int i = 0; i < 10; ++i) {
    clock_.Advance(ChannelDelivery::kStoreRetry);
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(counts_->delivered, 0u) << "who counts it finds it in the store";
  failing.refuse = false;
  ASSERT_TRUE(Soon([&] {
    clock_.Advance(ChannelDelivery::kStoreRetry);
    return counts_->delivered == 1;
  }));
  EXPECT_THAT(receiver_.got(), SizeIs(1));
}

TEST_F(ChannelDeliveryTest, WhatLastsIsRepeatedToAChannelThatKeepsState) {
  Record(Bad("c001"));
  Record(Bad("c002"));
  const auto delivery = Start(/*keeps_state=*/true);
  ASSERT_TRUE(SoonDelivered(2));
  ASSERT_TRUE(Soon([&] { return receiver_.got().size() == 2; })) << "both, and both again";
  Record(Good("c001"));
  delivery->Wake();
  ASSERT_TRUE(SoonDelivered(3));
  EXPECT_THAT(receiver_.got(), SizeIs(3)) << "its minute is not over";
  clock_.Advance(ChannelDelivery::kRepeat);
  ASSERT_TRUE(Soon([&] { return receiver_.got().size() == 4; }));
  EXPECT_EQ(receiver_.got()[3].records, 1u) << "c002";
}

TEST_F(ChannelDeliveryTest, AClockThatIsSetBackDoesNotStopIt) {
  receiver_.Answer(Down);
  Record(Bad("c001"));
  const auto delivery = Start();
  ASSERT_TRUE(Soon([&] { return Summary("chat").error == "it is down"; }));
  receiver_.Answer(Ok);
  clock_.Advance(-absl::Hours(5));
  delivery->Wake();
  ASSERT_TRUE(SoonDelivered(1));
}

}  // namespace
}  // namespace muster::controller::notify
