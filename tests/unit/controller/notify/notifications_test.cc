// The whole way: what is posted or audited, to a real receiver.
#include "controller/notify/notifications.h"

#include <functional>

#include <nlohmann/json.hpp>

#include "absl/time/clock.h"
#include "controller/audit/audit.h"
#include "tests/fakes/failing_store.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fakes/servers/http_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/unit/controller/notify/notify_fixture.h"

namespace muster::controller::notify {
namespace {

using ::muster::testing::HttpReply;
using ::muster::testing::HttpRequest;
using ::muster::testing::HttpServer;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NotificationsTest : public ::testing::Test {
 protected:
  NotificationsTest() : store_(*OpenStore(":memory:")) {
    for (const char* path : {"/a", "/b"})
      server_.Handle(path, [](const HttpRequest&) { return HttpReply{.body = "ok"}; });
    Apply(absl::StrCat("a: {type: webhook, url: \"", server_.Url("/a"), "\"}"));
  }
  void Apply(const std::string& channels) {
    auto parsed = ParseInventory({{"f", absl::StrCat("cluster: lab\nnodes: {c1: {role: compute}}\n"
                                                     "notifications: {",
                                                     channels, "}\n")}});
    ASSERT_OK(parsed);
    absl::MutexLock lock(&mutex_);
    inventory_ = std::make_shared<const Inventory>(*std::move(parsed));
    ++revision_;
  }
  std::unique_ptr<Notifications> Start() {
    auto notifications = std::make_unique<Notifications>(NotifyCollaborators{
        .store = store_,
        .clock = clock_,
        .latest_inventory =
            [this]() -> absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> {
          absl::MutexLock lock(&mutex_);
          return std::make_pair(revision_, inventory_);
        },
        .make_channel =
            [this](ChannelConfig config) { return MakeChannel(std::move(config), secrets_); },
        .warn =
            [this](absl::string_view line) {
              absl::MutexLock lock(&mutex_);
              warnings_.emplace_back(line);
            },
        .certificate_ends = ends_});
    notifications->Start();
    return notifications;
  }
  size_t Got(const std::string& path) {
    size_t count = 0;
    for (const HttpRequest& request : server_.requests()) count += request.path == path;
    return count;
  }
  static bool Soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      absl::SleepFor(absl::Milliseconds(5));
    }
    return false;
  }

  muster::testing::FakeClock clock_{kNow};
  muster::testing::FailingStore store_;
  muster::testing::FakeSecretSource secrets_;
  HttpServer server_;
  absl::Mutex mutex_;
  uint64_t revision_ = 0;
  std::shared_ptr<const Inventory> inventory_;
  std::vector<std::string> warnings_;
  CertificateEnds ends_;
};

TEST_F(NotificationsTest, TheStartWarnsOfACertificateThatHasEnded) {
  ends_.controller = kNow - absl::Hours(1);
  const auto notifications = Start();
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(warnings_, ::testing::Contains(HasSubstr("muster ca renew-controller")));
}

TEST_F(NotificationsTest, WhatIsPostedArrives) {
  const auto notifications = Start();
  notifications->Post(Bad("c1"));
  ASSERT_TRUE(Soon([&] { return Got("/a") == 1; }));
  const auto json = nlohmann::json::parse(server_.requests()[0].body);
  EXPECT_EQ(json["cluster"], "lab");
  EXPECT_EQ(json["notifications"][0]["kind"], "health.condition");
  ASSERT_TRUE(Soon([&] { return (*notifications->Channels())[0].delivered == 1; }));
  EXPECT_EQ((*notifications->Channels())[0].summary.pending, 0u);
}

TEST_F(NotificationsTest, WhatIsAuditedArrives) {
  const auto notifications = Start();
  ASSERT_TRUE(Soon([&] {
    bool has_begun = false;
    return store_.below()
               .View([&](Transaction& txn) -> absl::Status {
                 ASSIGN_OR_RETURN(const auto position, txn.notifications().Position());
                 has_begun = position.has_value();
                 return absl::OkStatus();
               })
               .ok() &&
           has_begun;
  }));
  ASSERT_OK(store_.below().Update([&](Transaction& txn) {
    return Audit(txn, kNow, NodeActor("uuid"), "node.clone", "c1", "two machines");
  }));
  clock_.Advance(Notifications::kLook);
  ASSERT_TRUE(Soon([&] { return Got("/a") == 1; }));
}

TEST_F(NotificationsTest, AChannelThatHangsHoldsUpNoOther) {
  server_.Handle("/b", [](const HttpRequest&) {
    return HttpReply{.claimed_length = 100, .cut_at = 0, .stalls = true};
  });
  Apply(absl::StrCat("a: {type: webhook, url: \"", server_.Url("/a"),
                     "\"}, b: {type: webhook, url: \"", server_.Url("/b"), "\"}"));
  const auto notifications = Start();
  notifications->Post(Bad("c1"));
  ASSERT_TRUE(Soon([&] { return Got("/b") == 1; }));
  notifications->Post(Bad("c2"));
  notifications->Post(Bad("c3"));
  EXPECT_TRUE(Soon([&] { return (*notifications->Channels())[0].delivered == 3; }));
  const absl::Time start = absl::Now();
  notifications->Stop();
  EXPECT_LT(absl::Now() - start, absl::Seconds(10)) << "the transfer was cut";
}

TEST_F(NotificationsTest, FollowsTheInventory) {
  const auto notifications = Start();
  notifications->Post(Bad("c1"));
  ASSERT_TRUE(Soon([&] { return Got("/a") == 1; }));
  Apply(absl::StrCat("b: {type: webhook, url: \"", server_.Url("/b"), "\", kinds: [health]}"));
  notifications->Post(Bad("c2"));
  ASSERT_TRUE(Soon([&] { return Got("/b") == 1; }));
  Notification failed = Bad("c3");
  failed.kind = "run.failed";
  notifications->Post(failed);
  notifications->Post(Bad("c4"));
  ASSERT_TRUE(Soon([&] { return Got("/b") == 2; }));
  EXPECT_EQ(Got("/a"), 1u);
}

TEST_F(NotificationsTest, WhatWaitsForAChannelThatIsGoneHasFailed) {
  server_.Handle("/a", [](const HttpRequest&) { return HttpReply{.status = 503}; });
  const auto notifications = Start();
  notifications->Post(Bad("c1"));
  ASSERT_TRUE(Soon([&] { return Got("/a") == 1; }));
  Apply(absl::StrCat("b: {type: webhook, url: \"", server_.Url("/b"), "\"}"));
  notifications->Post(Bad("c2"));
  ASSERT_TRUE(Soon([&] { return Got("/b") == 1; }));
  ASSERT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const ChannelSummary summary, txn.notification_deliveries().Summary("a"));
    EXPECT_EQ(summary.pending, 0u);
    EXPECT_THAT(summary.error, HasSubstr("no such channel"));
    return absl::OkStatus();
  }));
}

TEST_F(NotificationsTest, WhatAFullStoreRefusesIsToldLater) {
  store_.refuse = true;
  const auto notifications = Start();
  for (int i = 0; i < 3; ++i) notifications->Post(Bad(absl::StrCat("c", i)));
  ASSERT_TRUE(Soon([&] {
    absl::MutexLock lock(&mutex_);
    return !warnings_.empty();
  }));
  EXPECT_EQ(Got("/a"), 0u);
  store_.refuse = false;
  clock_.Advance(absl::Minutes(1));
  ASSERT_TRUE(Soon([&] { return (*notifications->Channels())[0].delivered == 3; }));
  absl::MutexLock lock(&mutex_);
  EXPECT_THAT(warnings_, SizeIs(1)) << "once, not each time";
}

TEST_F(NotificationsTest, TheMemoryForWhatIsPostedIsBounded) {
  store_.refuse = true;
  const auto notifications = Start();
  for (size_t i = 0; i < Notifications::kMaxPosted + 7; ++i) notifications->Post(Bad("c1"));
  EXPECT_EQ(notifications->dropped(), 7u);
}

TEST_F(NotificationsTest, ATestShowsTheAnswer) {
  const auto notifications = Start();
  auto reply = notifications->Test("a", {"admin:ann", ""});
  ASSERT_OK(reply);
  EXPECT_OK(reply->status);
  EXPECT_EQ(reply->answer, "200 ok");
  EXPECT_THAT(server_.requests()[0].body, HasSubstr("notify.test"));
  server_.Handle(
      "/a", [](const HttpRequest&) { return HttpReply{.status = 401, .body = "who are you"}; });
  reply = notifications->Test("a", {"admin:ann", ""});
  ASSERT_OK(reply);
  EXPECT_THAT(std::string(reply->status.message()), HasSubstr("401 who are you"));
  EXPECT_THAT(notifications->Test("aa", {"admin:ann", ""}),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  ASSERT_OK(store_.below().View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_THAT(events, SizeIs(2));
    EXPECT_EQ(events[0].action, "notify.test");
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller::notify
