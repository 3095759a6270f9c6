#include "controller/enrollment/authority_change.h"

#include "controller/enrollment/users.h"
#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AuthorityChangeTest : public EnrollmentFixture {
 protected:
  void SetUp() override {
    EnrollmentFixture::SetUp();
    for (const char* name : {"c001", "c002"}) {
      machines_.push_back(Machine(Token(name), name));
      certificates_.push_back(enrollment_->Join(machines_.back()).value().certificate_pem);
    }
  }

  // As after a restart of the controller with two roots, of which the new one signs.
  void ChangeAuthority() {
    const pki::Authority next = pki::MakeCa("next", absl::Hours(24 * 3650), clock_.Now()).value();
    *ca_ = CertificateAuthority::Create(next.certificate_pem + authority_.certificate_pem, next.key)
               .value();
    EXPECT_OK(NoteAuthority(*store_, *ca_, clock_.Now()));
  }
  absl::StatusOr<bool> Use(size_t machine) {
    NodeRecord node = Node(machines_[machine].node_uuid);
    node.last_seen_at = clock_.Now();
    EXPECT_OK(store_->Update([&](Transaction& txn) { return txn.nodes().Put(node); }));
    return enrollment_->UseKey(machines_[machine].node_uuid, Serial(certificates_[machine]),
                               certificates_[machine], kNode);
  }
  void Renew(size_t machine) {
    clock_.Advance(absl::Minutes(1));
    certificates_[machine] = enrollment_
                                 ->Renew(machines_[machine].node_uuid, certificates_[machine],
                                         pki::MakeKeyAndCsr("x").value().csr_pem, kNode)
                                 .value();
  }
  std::vector<std::string> NodesBehind() {
    std::vector<std::string> names;
    const Behind behind = WhoIsBehind(*store_, *ca_, clock_.Now()).value();
    for (const auto& [uuid, name] : behind.nodes) names.push_back(name);
    return names;
  }
  std::vector<std::string> PeopleBehind() {
    return WhoIsBehind(*store_, *ca_, clock_.Now()).value().people;
  }

  const Actor kNode = {"node:x", "ipv4:10.0.0.3:4000"};
  std::vector<JoinRequest> machines_;
  std::vector<std::string> certificates_;
};

TEST_F(AuthorityChangeTest, NodeIsAlongOnceItHasShownACertificateOfTheNewAuthority) {
  // A machine that was admitted but has never connected may not have received its certificate.
  EXPECT_THAT(NodesBehind(), ElementsAre("c001", "c002"));
  EXPECT_FALSE(Use(0).value());
  EXPECT_FALSE(Use(1).value());
  EXPECT_THAT(NodesBehind(), IsEmpty());
  ChangeAuthority();
  EXPECT_EQ(LastEvent().action, "ca.change");
  EXPECT_THAT(LastEvent().detail, Said());
  EXPECT_THAT(NodesBehind(), ElementsAre("c001", "c002"));
  EXPECT_TRUE(Use(0).value());
  Renew(0);
  // Signed, but perhaps never received.
  EXPECT_THAT(NodesBehind(), ElementsAre("c001", "c002"));
  EXPECT_FALSE(Use(0).value());
  EXPECT_THAT(NodesBehind(), ElementsAre("c002"));
  // Nobody waits for a node that is no longer a member.
  ASSERT_OK(enrollment_->Remove({"c002"}, "sold", kAdmin));
  EXPECT_THAT(NodesBehind(), IsEmpty());
  // A machine that waits for approval knows only the earlier root.
  ASSERT_OK(enrollment_->Join(Machine(Token("c003", /*require_approval=*/true), "c003")));
  EXPECT_THAT(NodesBehind(), ElementsAre("c003"));
}

TEST_F(AuthorityChangeTest, ForgottenCertificateOfTheEarlierAuthorityIsNotAdopted) {
  // Made with a stolen key, or forgotten by a restored store: nobody can say which.
  const std::string forged = ca_->IssueNode(pki::MakeKeyAndCsr("x").value().csr_pem,
                                            machines_[0].node_uuid, "c001", clock_.Now())
                                 .value()
                                 .pem;
  ChangeAuthority();
  const auto refused = StatusIs(absl::StatusCode::kPermissionDenied, Said());
  EXPECT_THAT(enrollment_->UseKey(machines_[0].node_uuid, Serial(forged), forged, kNode), refused);
  EXPECT_THAT(enrollment_->Renew(machines_[0].node_uuid, forged,
                                 pki::MakeKeyAndCsr("y").value().csr_pem, kNode),
              refused);
  EXPECT_TRUE(Use(0).value());  // the node itself works as before
}

TEST_F(AuthorityChangeTest, PersonIsAlongOnceEachOfTheirCertificatesIs) {
  Users users(*store_, *ca_, denylist_, clock_, [] {});
  const auto create = [&](const char* name) {
    return IdentityOf(
               pki::ParseCertificate(
                   users
                       .Create(name, Role::kViewer, pki::MakeKeyAndCsr("x").value().csr_pem, kAdmin)
                       .value())
                   .value())
        .value();
  };
  const Identity bob = create("bob"), elsewhere = create("bob");
  create("eve");
  create("zoe");
  ChangeAuthority();
  EXPECT_THAT(PeopleBehind(), ElementsAre("bob", "eve", "zoe"));
  ASSERT_OK(users.Renew(bob, pki::MakeKeyAndCsr("x").value().csr_pem, kAdmin));
  EXPECT_THAT(PeopleBehind(), ElementsAre("bob", "eve", "zoe"));
  ASSERT_OK(users.Renew(elsewhere, pki::MakeKeyAndCsr("x").value().csr_pem, kAdmin));
  EXPECT_THAT(PeopleBehind(), ElementsAre("eve", "zoe"));
  ASSERT_OK(users.Revoke(kAlice, "eve", kAdmin));
  EXPECT_THAT(PeopleBehind(), ElementsAre("zoe"));
  clock_.Advance(CertificateAuthority::kUserLifetime + absl::Hours(1));
  EXPECT_THAT(PeopleBehind(), IsEmpty());
}

TEST_F(AuthorityChangeTest, ChangeIsToldOnceAndOnlyWhenThereIsOne) {
  EXPECT_OK(NoteAuthority(*store_, *ca_, clock_.Now()));
  EXPECT_NE(LastEvent().action, "ca.change");
  ChangeAuthority();
  Renew(0);
  const uint64_t told = LastEvent().sequence;
  EXPECT_OK(NoteAuthority(*store_, *ca_, clock_.Now()));
  EXPECT_EQ(LastEvent().sequence, told);
}

}  // namespace
}  // namespace muster::controller
