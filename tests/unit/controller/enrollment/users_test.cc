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
};

TEST_F(UsersTest, ACertificateStandsForThePersonAndTheRole) {
  const auto pem = Create("bob", Role::kViewer);
  ASSERT_OK(pem);
  const auto identity = IdentityOf(pki::ParseCertificate(*pem).value());
  ASSERT_OK(identity);
  EXPECT_EQ(identity->Actor(), "viewer:bob");
  EXPECT_EQ(LastEvent().action, "user.create");
  EXPECT_EQ(LastEvent().actor, "admin:alice");
}

TEST_F(UsersTest, RevokingDeniesAllOfThePersonsCertificatesAndNobodyElses) {
  int cuts = 0;
  Users users(*store_, *ca_, denylist_, clock_, [&cuts] { ++cuts; });
  const auto first = Create("bob", Role::kViewer), second = Create("bob", Role::kOperator),
             other = Create("eve", Role::kViewer);
  ASSERT_OK(first);
  ASSERT_OK(second);
  ASSERT_OK(other);
  const auto denied = users.Revoke("bob", kAdmin);
  ASSERT_OK(denied);
  EXPECT_EQ(*denied, 2u);
  EXPECT_EQ(cuts, 1);
  EXPECT_TRUE(denylist_.Contains(Serial(*first)));
  EXPECT_TRUE(denylist_.Contains(Serial(*second)));
  EXPECT_FALSE(denylist_.Contains(Serial(*other)));
  EXPECT_EQ(users.Revoke("bob", kAdmin).value(), 0u);  // already denied
  const auto all = users.List();
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 3u);
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
  ASSERT_OK(users.Revoke("bob", kAdmin));
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

TEST_F(UsersTest, RefusesBadNamesAndUnknownPeople) {
  EXPECT_THAT(Create("a/b", Role::kViewer), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Create("", Role::kViewer), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Create("n", Role::kNode), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Users(*store_, *ca_, denylist_, clock_, [] {}).Revoke("nobody", kAdmin),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
