#include "controller/login/web_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/status.h"
#include "controller/enrollment/denylist.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class WebSessionsTest : public ::testing::Test {
 protected:
  Identity Person(const std::string& name, const std::string& serial = "ab") {
    return {Role::kViewer, name, serial, clock_.Now() + absl::Hours(24 * 365)};
  }
  WebSessions::Ticket LogIn(const std::string& name, const std::string& serial = "ab") {
    return *sessions_.Redeem(sessions_.MakeLink(Person(name, serial)).secret);
  }
  absl::Status Find(const WebSessions::Ticket& session) {
    return sessions_.Find(session.secret, session.token).status();
  }

  FakeClock clock_;
  Denylist denylist_;
  WebSessions sessions_{denylist_, clock_};
};

TEST_F(WebSessionsTest, ALinkWorksOnce) {
  const WebSessions::Ticket link = sessions_.MakeLink(Person("vera"));
  EXPECT_EQ(link.secret.size(), 64u);
  const auto session = sessions_.Redeem(link.secret);
  ASSERT_OK(session);
  EXPECT_NE(session->secret, link.secret);
  EXPECT_EQ(session->identity.name, "vera");
  EXPECT_EQ(session->identity.role, Role::kViewer);
  EXPECT_OK(Find(*session));
  EXPECT_THAT(sessions_.Redeem(link.secret), StatusIs(absl::StatusCode::kUnauthenticated, Said()));
  EXPECT_THAT(Find(link), StatusIs(absl::StatusCode::kUnauthenticated, Said()));
}

TEST_F(WebSessionsTest, ACookieIsWorthNothingWithoutItsToken) {
  const WebSessions::Ticket session = LogIn("vera");
  const WebSessions::Ticket other = LogIn("otto");
  EXPECT_EQ(session.token.size(), 64u);
  EXPECT_NE(session.token, session.secret);
  EXPECT_NE(session.token, other.token);
  for (const std::string& token : {std::string(), session.secret, other.token})
    EXPECT_FALSE(sessions_.Find(session.secret, token).ok()) << token;
  EXPECT_OK(Find(session));
  // Nor has a link one.
  EXPECT_FALSE(sessions_.Find(sessions_.MakeLink(Person("vera")).secret, "").ok());
}

TEST_F(WebSessionsTest, ALinkLastsMinutes) {
  const std::string in_time = sessions_.MakeLink(Person("vera")).secret;
  const std::string late = sessions_.MakeLink(Person("vera")).secret;
  clock_.Advance(WebSessions::kLinkLasts - absl::Seconds(1));
  EXPECT_OK(sessions_.Redeem(in_time));
  clock_.Advance(absl::Seconds(1));
  EXPECT_FALSE(sessions_.Redeem(late).ok());
}

TEST_F(WebSessionsTest, NothingIsASession) {
  for (const std::string& secret :
       {std::string(), std::string("x"), std::string(64, '0'), std::string(100'000, 'f')}) {
    EXPECT_FALSE(sessions_.Find(secret, "").ok());
    EXPECT_FALSE(sessions_.Redeem(secret).ok());
  }
}

TEST_F(WebSessionsTest, ASessionEndsWhenNobodyUsesIt) {
  const WebSessions::Ticket session = LogIn("vera");
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(WebSessions::kIdle - absl::Seconds(1));
    EXPECT_OK(Find(session));
  }
  clock_.Advance(WebSessions::kIdle);
  EXPECT_FALSE(Find(session).ok());
}

TEST_F(WebSessionsTest, ASessionEndsHoweverMuchItIsUsed) {
  const WebSessions::Ticket session = LogIn("vera");
  while (clock_.Now() + absl::Minutes(10) < session.ends_at) {
    clock_.Advance(absl::Minutes(10));
    ASSERT_OK(Find(session));
  }
  clock_.Advance(absl::Minutes(10));
  EXPECT_FALSE(Find(session).ok());
}

TEST_F(WebSessionsTest, ASessionEndsWithTheCertificate) {
  Identity person = Person("vera");
  person.expires_at = clock_.Now() + absl::Minutes(20);
  const WebSessions::Ticket session = *sessions_.Redeem(sessions_.MakeLink(person).secret);
  EXPECT_EQ(session.ends_at, person.expires_at);
  clock_.Advance(absl::Minutes(20));
  EXPECT_FALSE(Find(session).ok());
}

TEST_F(WebSessionsTest, ARevokedPersonHasNoSessionAndNoLink) {
  const WebSessions::Ticket session = LogIn("vera");
  const std::string link = sessions_.MakeLink(Person("vera")).secret;
  // By a certificate that the store does not know.
  const WebSessions::Ticket unknown = LogIn("vera", "ef");
  const WebSessions::Ticket other = LogIn("otto", "cd");
  const std::unique_ptr<Store> store = OpenStore(":memory:").value();
  ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
    CertificateRecord record;
    record.serial = "ab";
    record.user = "vera";
    record.role = "viewer";
    record.not_before = clock_.Now();
    record.not_after = clock_.Now() + absl::Hours(1);
    RETURN_IF_ERROR(txn.certificates().Insert(record));
    return txn.certificates().RevokeByUser("vera", clock_.Now());
  }));
  ASSERT_OK(denylist_.Load(*store));
  EXPECT_THAT(Find(session), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_FALSE(sessions_.Redeem(link).ok());
  EXPECT_FALSE(Find(unknown).ok());
  EXPECT_OK(Find(other));
}

TEST_F(WebSessionsTest, TheOldestMakesRoom) {
  std::vector<WebSessions::Ticket> all;
  for (size_t i = 0; i <= WebSessions::kMaxSessions; ++i) {
    all.push_back(LogIn("vera"));
    clock_.Advance(absl::Seconds(1));
  }
  EXPECT_FALSE(Find(all[0]).ok());
  for (size_t i = 1; i < all.size(); ++i) EXPECT_OK(Find(all[i]));
  const std::string first_link = sessions_.MakeLink(Person("vera")).secret;
  clock_.Advance(absl::Seconds(1));
  for (size_t i = 0; i < 100; ++i) sessions_.MakeLink(Person("vera"));
  EXPECT_EQ(sessions_.size(), WebSessions::kMaxSessions + WebSessions::kMaxLinks);
  EXPECT_FALSE(sessions_.Redeem(first_link).ok());
  // Others have room of their own.
  EXPECT_OK(sessions_.Redeem(sessions_.MakeLink(Person("otto")).secret));
}

TEST_F(WebSessionsTest, LogoutEndsOneSession) {
  const WebSessions::Ticket one = LogIn("vera");
  const WebSessions::Ticket other = LogIn("vera");
  sessions_.End(one.secret);
  EXPECT_FALSE(Find(one).ok());
  EXPECT_OK(Find(other));
}

}  // namespace
}  // namespace muster::controller
