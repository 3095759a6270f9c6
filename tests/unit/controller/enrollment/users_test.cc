#include "controller/enrollment/users.h"

#include "tests/fakes/enrollment_fixture.h"

namespace muster::controller {
namespace {

using ::muster::testing::StatusIs;
using ::testing::HasSubstr;

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
  EXPECT_EQ(users.Revoke("bob", kAdmin).value(), 0u);  // denied before
  const auto all = users.List();
  ASSERT_OK(all);
  EXPECT_EQ(all->size(), 3u);
}

TEST_F(UsersTest, RefusesBadNamesAndUnknownPeople) {
  EXPECT_THAT(Create("a/b", Role::kViewer),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("'a/b'")));
  EXPECT_THAT(Create("", Role::kViewer),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("1 to 64")));
  EXPECT_THAT(Create("n", Role::kNode),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("viewer")));
  EXPECT_THAT(Users(*store_, *ca_, denylist_, clock_, [] {}).Revoke("nobody", kAdmin),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("muster user list")));
}

}  // namespace
}  // namespace muster::controller
