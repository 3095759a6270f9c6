#include "controller/enrollment/users.h"

#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;

class UsersTest : public EnrollmentFixture {
 protected:
  absl::StatusOr<std::string> Create(const std::string& name, Role role) {
    return Users(*store_, *ca_, denylist_, clock_, [] {})
        .Create(name, role, pki::MakeKeyAndCsr("whatever").value().csr_pem, kAdmin);
  }
  // A certificate that was signed here and is not in the store, as after a restore from a backup.
  Identity Forgotten(const std::string& name) {
    return IdentityIn(ca_->IssueUser(pki::MakeKeyAndCsr("whatever").value().csr_pem, name,
                                     Role::kAdmin, clock_.Now(), clock_.Now() + absl::Hours(24))
                          .value()
                          .pem);
  }
  static Identity IdentityIn(absl::string_view pem) {
    return IdentityOf(pki::ParseCertificate(pem).value()).value();
  }
  absl::Status Standing(const Identity& who) { return CheckStanding(who, denylist_, clock_.Now()); }
};

TEST_F(UsersTest, ACertificateStandsForThePersonAndTheRole) {
  const auto pem = Create("bob", Role::kViewer);
  ASSERT_OK(pem);
  const auto identity = IdentityOf(pki::ParseCertificate(*pem).value());
  ASSERT_OK(identity);
  EXPECT_EQ(identity->Actor(), "viewer:bob");
  EXPECT_EQ(identity->signed_at, clock_.Now());
  EXPECT_EQ(LastEvent().action, "user.create");
  EXPECT_EQ(LastEvent().actor, "admin:alice");
}

TEST_F(UsersTest, NobodyGetsACertificateThatTheGateWouldNotTake) {
  for (const char* name : {"", "_prometheus", "-x", ".x", "ann@example.org", "Jane Doe"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Create(name, Role::kViewer).status())) << name;
  }
  EXPECT_OK(Create("9_a-b.c", Role::kViewer));
}

TEST_F(UsersTest, RevokingDeniesAllOfThePersonsCertificatesAndNobodyElses) {
  int cuts = 0;
  Users users(*store_, *ca_, denylist_, clock_, [&cuts] { ++cuts; });
  const auto first = Create("bob", Role::kViewer), second = Create("bob", Role::kOperator),
             other = Create("eve", Role::kViewer);
  ASSERT_OK(first);
  ASSERT_OK(second);
  ASSERT_OK(other);
  const auto denied = users.Revoke(kAlice, "bob", kAdmin);
  ASSERT_OK(denied);
  EXPECT_EQ(denied->certificates, 2u);
  EXPECT_TRUE(denied->is_known);
  EXPECT_EQ(cuts, 1);
  EXPECT_TRUE(denylist_.Contains(Serial(*first)));
  EXPECT_TRUE(denylist_.Contains(Serial(*second)));
  EXPECT_FALSE(denylist_.Contains(Serial(*other)));
  const auto again = users.Revoke(kAlice, "bob", kAdmin);
  ASSERT_OK(again);
  EXPECT_EQ(again->certificates, 0u);  // already denied
  EXPECT_TRUE(again->is_known);
  const auto all = users.List();
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 3u);
}

// The attack: a certificate is stolen that the store lacks, because it was restored from a backup.
TEST_F(UsersTest, RevokingDeniesCertificatesThatTheStoreDoesNotKnow) {
  int cuts = 0;
  Users users(*store_, *ca_, denylist_, clock_, [&cuts] { ++cuts; });
  clock_.Advance(absl::Milliseconds(900));
  const Identity stolen = Forgotten("bob"), other = Forgotten("eve");
  Identity node = stolen;
  node.role = Role::kNode;
  EXPECT_OK(Standing(stolen));
  const auto denied = users.Revoke(kAlice, "bob", kAdmin);
  ASSERT_OK(denied);
  EXPECT_EQ(denied->certificates, 0u);
  EXPECT_FALSE(denied->is_known);
  EXPECT_EQ(cuts, 1);
  EXPECT_EQ(LastEvent().action, "user.revoke");
  Denylist restarted;
  ASSERT_OK(restarted.Load(*store_));
  EXPECT_TRUE(denylist_.Denies(stolen));
  EXPECT_TRUE(restarted.Denies(stolen));
  EXPECT_EQ(Standing(stolen).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_OK(Standing(other));
  EXPECT_OK(Standing(node));
}

// After the clock was far ahead for a while.
TEST_F(UsersTest, RevokingDeniesCertificatesWhoseRowsWereRemoved) {
  const auto bob = Create("bob", Role::kViewer);
  ASSERT_OK(bob);
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    const absl::Time ahead = clock_.Now() + absl::Hours(24 * 400);
    return txn.certificates().RemoveExpired(ahead, ahead).status();
  }));
  EXPECT_OK(Standing(IdentityIn(*bob)));
  ASSERT_OK(Users(*store_, *ca_, denylist_, clock_, [] {}).Revoke(kAlice, "bob", kAdmin));
  EXPECT_EQ(Standing(IdentityIn(*bob)).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(UsersTest, WhatIsSignedAfterARevocationIsGoodUntilTheNextOne) {
  Users users(*store_, *ca_, denylist_, clock_, [] {});
  clock_.Advance(absl::Milliseconds(100));
  const Identity before = Forgotten("bob");
  ASSERT_OK(users.Revoke(kAlice, "bob", kAdmin));
  clock_.Advance(absl::Milliseconds(100));
  const auto same_second = Create("bob", Role::kViewer);
  ASSERT_OK(same_second);
  EXPECT_OK(Standing(IdentityIn(*same_second)));
  clock_.Advance(absl::Seconds(1));
  const Identity later = Forgotten("bob");
  EXPECT_OK(Standing(later));
  clock_.Advance(-absl::Hours(1));
  const auto set_back = Create("bob", Role::kViewer);
  ASSERT_OK(set_back);
  EXPECT_OK(Standing(IdentityIn(*set_back)));
  EXPECT_EQ(Standing(before).code(), absl::StatusCode::kPermissionDenied);

  clock_.Advance(absl::Hours(2));
  ASSERT_OK(users.Revoke(kAlice, "bob", kAdmin));
  for (const Identity& each : {before, IdentityIn(*same_second), later, IdentityIn(*set_back)}) {
    EXPECT_EQ(Standing(each).code(), absl::StatusCode::kPermissionDenied);
  }
}

// The certificate that `muster init` makes is in no store.
TEST_F(UsersTest, NobodyShutsThemselvesOutWithACertificateThatIsNotInTheStore) {
  Users users(*store_, *ca_, denylist_, clock_, [] {});
  const Identity first = Forgotten("alice");
  ASSERT_OK(Create("alice", Role::kAdmin));  // another of the same name
  EXPECT_THAT(users.Revoke(first, "alice", kAdmin),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(Standing(first));
  const auto own = Create("alice", Role::kAdmin);
  ASSERT_OK(own);
  ASSERT_OK(users.Revoke(IdentityIn(*own), "alice", kAdmin));
  EXPECT_EQ(Standing(first).code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(UsersTest, RenewedCertificateIsOfTheNewAuthorityAndEndsWhenTheOneAtHandDoes) {
  Users users(*store_, *ca_, denylist_, clock_, [] {});
  const Identity bob =
      IdentityOf(pki::ParseCertificate(Create("bob", Role::kViewer).value()).value()).value();
  clock_.Advance(absl::Hours(100));
  const auto renew = [&](const Identity& who) {
    return users.Renew(who, pki::MakeKeyAndCsr("whoever").value().csr_pem,
                       {"viewer:bob", "ipv4:10.0.0.2:1"});
  };
  EXPECT_THAT(renew(bob), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  const pki::Authority next = pki::MakeCa("next", absl::Hours(24 * 3650), clock_.Now()).value();
  *ca_ = CertificateAuthority::Create(next.certificate_pem + authority_.certificate_pem, next.key)
             .value();
  const auto pem = renew(bob);
  ASSERT_OK(pem);
  EXPECT_OK(pki::VerifySignedBy(*pem, next.certificate_pem, clock_.Now()));
  const Identity again = IdentityOf(pki::ParseCertificate(*pem).value()).value();
  EXPECT_EQ(again.Actor(), "viewer:bob");
  EXPECT_EQ(again.expires_at, bob.expires_at);
  EXPECT_EQ(LastEvent().action, "user.renew");
  EXPECT_THAT(renew(again), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  absl::Status last;
  for (int i = 0; i < 12 && last.ok(); ++i) last = renew(bob).status();
  EXPECT_THAT(last, StatusIs(absl::StatusCode::kResourceExhausted, Said()));
  clock_.Advance(absl::Hours(2));
  ASSERT_OK(users.Revoke(kAlice, "bob", kAdmin));
  EXPECT_THAT(renew(bob), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

// A thief of the earlier authority's key makes certificates with any end.
TEST_F(UsersTest, CertificateThatNobodyHasSignedHereIsNotRenewed) {
  Users users(*store_, *ca_, denylist_, clock_, [] {});
  const IssuedCertificate forged =
      ca_->IssueUser(pki::MakeKeyAndCsr("x").value().csr_pem, "mallory", Role::kAdmin, clock_.Now(),
                     clock_.Now() + absl::Hours(24 * 3000))
          .value();
  EXPECT_THAT(users.Renew(IdentityOf(pki::ParseCertificate(forged.pem).value()).value(),
                          pki::MakeKeyAndCsr("x").value().csr_pem, kAdmin),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

TEST_F(UsersTest, RefusesBadNames) {
  EXPECT_THAT(Create("a/b", Role::kViewer), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Create("", Role::kViewer), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Create("n", Role::kNode), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Users(*store_, *ca_, denylist_, clock_, [] {}).Revoke(kAlice, "a/b", kAdmin),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

}  // namespace
}  // namespace muster::controller
