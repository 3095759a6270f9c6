// A node's key in two places: found whoever comes first, and never if there is only one machine.
#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class NodeKeysTest : public EnrollmentFixture {
 protected:
  void SetUp() override {
    EnrollmentFixture::SetUp();
    machine_ = Machine(Token("c001"), "c001");
    joined_ = enrollment_->Join(machine_).value().certificate_pem;
  }
  Actor From(const std::string& address) const {
    return {"node:" + machine_.node_uuid, absl::StrCat("ipv4:", address, ":4000")};
  }
  absl::Status Use(const std::string& pem, const std::string& address) {
    return enrollment_->UseKey(machine_.node_uuid, Serial(pem), pem, From(address)).status();
  }
  absl::StatusOr<std::string> Renew(const std::string& pem, const std::string& address) {
    clock_.Advance(absl::Hours(1));
    return enrollment_->Renew(machine_.node_uuid, pem, pki::MakeKeyAndCsr("c001").value().csr_pem,
                              From(address));
  }
  bool IsLocked() { return !Node(machine_.node_uuid).locked_because.empty(); }
  // Like a restored backup: later certificates are not known.
  void Forget(const std::string& pem) {
    ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(CertificateRecord record, txn.certificates().Get(Serial(pem)));
      const absl::Time end = record.not_after + absl::Seconds(1);
      return txn.certificates().RemoveExpired(end, end).status();
    }));
  }

  const std::string kHonest = "10.0.0.3", kThief = "10.0.0.66";
  JoinRequest machine_;
  std::string joined_;
};

TEST_F(NodeKeysTest, RenewedOverAndOverAnHonestNodeIsNeverLocked) {
  std::string current = joined_;
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(Use(current, kHonest));
    ASSERT_OK(Use(current, kHonest));  // it returns after a while
    absl::StatusOr<std::string> next = Renew(current, kHonest);
    ASSERT_OK(next);
    current = *std::move(next);
  }
  EXPECT_FALSE(IsLocked());
  EXPECT_THAT(denied_, IsEmpty());
}

TEST_F(NodeKeysTest, AnswerThatWasLostOrNeverStoredLocksNobodyOut) {
  ASSERT_OK(Use(joined_, kHonest));
  const auto lost = Renew(joined_, kHonest);
  ASSERT_OK(lost);
  ASSERT_OK(Use(joined_, kHonest));  // it crashed, and has only the old one
  ASSERT_OK(Renew(joined_, kHonest));
  const auto kept = Renew(joined_, kHonest);
  ASSERT_OK(kept);
  ASSERT_OK(Use(*kept, kHonest));
  EXPECT_FALSE(IsLocked());
}

// The controller, or the node, is away for a long weekend.
TEST_F(NodeKeysTest, RenewsDaysAfterTheLastRenewal) {
  ASSERT_OK(Use(joined_, kHonest));
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  ASSERT_OK(Use(*renewed, kHonest));
  clock_.Advance(absl::Hours(24 * 3));
  EXPECT_OK(pki::VerifySignedBy(*renewed, ca_->roots().pem, clock_.Now()));
  const auto next = Renew(*renewed, kHonest);
  ASSERT_OK(next);
  EXPECT_OK(Use(*next, kHonest));
  EXPECT_FALSE(IsLocked());
}

// The attacks, by who renews first.
TEST_F(NodeKeysTest, ThiefOfACertificateThatWasRenewedLongAgoIsNoticedUntilItExpires) {
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  ASSERT_OK(Use(*renewed, kHonest));
  clock_.Advance(absl::Hours(24 * 29));
  ASSERT_OK(store_->Update([&](Transaction& txn) {
    return txn.certificates().RemoveExpired(clock_.Now(), clock_.Now()).status();
  }));
  ASSERT_OK(pki::VerifySignedBy(joined_, ca_->roots().pem, clock_.Now()));
  EXPECT_THAT(Use(joined_, kThief), StatusIs(absl::StatusCode::kPermissionDenied, _));
  EXPECT_TRUE(IsLocked());
}

TEST_F(NodeKeysTest, ThiefWhoRenewsACopiedKeyIsNoticedWhenTheNodeComesBack) {
  ASSERT_OK(Use(joined_, kHonest));
  const auto stolen = Renew(joined_, kThief);
  ASSERT_OK(stolen);
  ASSERT_OK(Use(*stolen, kThief));
  EXPECT_THAT(Use(joined_, kHonest), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_TRUE(denylist_.Contains(Serial(joined_)));
  EXPECT_TRUE(denylist_.Contains(Serial(*stolen)));
  ASSERT_THAT(denied_, SizeIs(1));
  EXPECT_EQ(denied_[0].first, machine_.node_uuid);
  EXPECT_EQ(LastEvent().action, "node.key_copied");
  EXPECT_EQ(LastEvent().subject, "c001");
  EXPECT_THAT(LastEvent().detail, AllOf(Said(), HasSubstr(kHonest), HasSubstr(kThief)));
  EXPECT_THAT(Node(machine_.node_uuid).locked_because,
              AllOf(HasSubstr(kHonest), HasSubstr(kThief)));
  // Only an administrator's token opens it again.
  EXPECT_THAT(Renew(*stolen, kThief), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_THAT(Use(*stolen, kThief), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  ASSERT_THAT(denied_, SizeIs(1));
  const JoinRequest anew = Machine(Token("c001"), "c001");
  const auto fresh = enrollment_->Join(anew);
  ASSERT_OK(fresh);
  EXPECT_OK(enrollment_->UseKey(anew.node_uuid, Serial(fresh->certificate_pem),
                                fresh->certificate_pem, From(kHonest)));
}

TEST_F(NodeKeysTest, ThiefWithAKeyThatTheNodeHasRenewedIsNoticed) {
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  ASSERT_OK(Use(*renewed, kHonest));
  EXPECT_THAT(Renew(joined_, kThief), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_TRUE(IsLocked());
  EXPECT_EQ(LastEvent().action, "node.key_copied");
}

TEST_F(NodeKeysTest, ThiefWhoRenewsInAdvanceIsNoticedWhenHeUsesIt) {
  const auto hoarded = Renew(joined_, kThief);
  ASSERT_OK(hoarded);
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  ASSERT_OK(Use(*renewed, kHonest));
  EXPECT_THAT(Use(*hoarded, kThief), StatusIs(absl::StatusCode::kPermissionDenied, Said()));
  EXPECT_TRUE(IsLocked());
}

TEST_F(NodeKeysTest, OldConnectionIsToldToComeBackAndLocksNobody) {
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  EXPECT_OK(enrollment_->CheckKey(machine_.node_uuid, Serial(joined_)));
  ASSERT_OK(Use(*renewed, kHonest));
  EXPECT_THAT(enrollment_->CheckKey(machine_.node_uuid, Serial(joined_)),
              StatusIs(absl::StatusCode::kUnavailable, Said()));
  EXPECT_OK(enrollment_->CheckKey(machine_.node_uuid, Serial(*renewed)));
  EXPECT_FALSE(IsLocked());
}

TEST_F(NodeKeysTest, RestoredStoreLetsInWhoRenewedAfterTheBackup) {
  const auto renewed = Renew(joined_, kHonest);
  ASSERT_OK(renewed);
  Forget(*renewed);
  EXPECT_OK(Use(*renewed, kHonest));
  EXPECT_EQ(LastEvent().action, "node.adopt");
  const auto next = Renew(*renewed, kHonest);
  ASSERT_OK(next);
  EXPECT_OK(Use(*next, kHonest));
  EXPECT_FALSE(IsLocked());
  // Its previous certificate is a copy from now on, as always.
  EXPECT_FALSE(Use(*renewed, kThief).ok());
  EXPECT_TRUE(IsLocked());
}

TEST_F(NodeKeysTest, CertificateOfNoMemberIsNotTakenIn) {
  const std::string stranger = NewUuid();
  const auto issued = ca_->IssueNode(machine_.csr_pem, stranger, "c009", clock_.Now());
  ASSERT_OK(issued);
  EXPECT_THAT(enrollment_->UseKey(stranger, Serial(issued->pem), issued->pem, From(kThief)),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

}  // namespace
}  // namespace muster::controller
