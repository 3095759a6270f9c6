// Nodes after they joined: replaced, removed, renewed.
#include "tests/fixtures/enrollment_fixture.h"
#include "tests/fixtures/golden_texts.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::_;
using ::testing::HasSubstr;

class EnrolledNodeTest : public EnrollmentFixture {
 protected:
  void SetUp() override {
    EnrollmentFixture::SetUp();
    machine_ = Machine(Token("c001"), "c001");
    certificate_ = enrollment_->Join(machine_).value().certificate_pem;
  }
  JoinRequest machine_;
  std::string certificate_;
};

TEST_F(EnrolledNodeTest, NewMachineUnderTheNameDeniesTheOld) {
  EXPECT_FALSE(denylist_.Contains(Serial(certificate_)));
  const JoinRequest fresh = Machine(Token("c001"), "c001");
  const JoinResult joined = enrollment_->Join(fresh).value();
  EXPECT_EQ(Node(machine_.node_uuid).state, NodeRecord::kRemoved);
  EXPECT_EQ(Node(fresh.node_uuid).state, NodeRecord::kEnrolled);
  EXPECT_TRUE(denylist_.Contains(Serial(certificate_)));
  EXPECT_FALSE(denylist_.Contains(Serial(joined.certificate_pem)));
  ASSERT_EQ(denied_.size(), 1u);
  EXPECT_EQ(denied_[0].first, machine_.node_uuid);
  EXPECT_THAT(denied_[0].second, HasSubstr(fresh.node_uuid));
}

TEST_F(EnrolledNodeTest, MachineWhoseCertificatesHaveExpiredIsTheOneThatItWas) {
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(NodeRecord node, txn.nodes().Get(machine_.node_uuid));
    node.state = NodeRecord::kConfigured;
    node.last_run_id = "r-1";
    node.last_run_result = "ok";
    node.report_sequence = 57;
    node.last_seen_at = clock_.Now();
    RETURN_IF_ERROR(txn.nodes().Put(node));
    return txn.node_service().PutPass({.node_uuid = machine_.node_uuid});
  }));
  const auto has_pass = [&] {
    bool has = false;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      has = txn.node_service().GetPass(machine_.node_uuid).ok();
      return absl::OkStatus();
    }));
    return has;
  };
  const auto join = [&](const std::string& name) {
    JoinRequest anew = Machine(Token(name), name);
    anew.node_uuid = machine_.node_uuid;
    return enrollment_->Join(anew);
  };
  EXPECT_THAT(join("c001"), StatusIs(absl::StatusCode::kAlreadyExists, _)) << "it is a node";
  clock_.Advance(absl::Hours(24 * 31));
  EXPECT_THAT(join("c002"), StatusIs(absl::StatusCode::kFailedPrecondition, _));
  const auto joined = join("c001");
  ASSERT_OK(joined);
  EXPECT_OK(enrollment_->UseKey(machine_.node_uuid, Serial(joined->certificate_pem),
                                joined->certificate_pem, {"node:" + machine_.node_uuid, "p"}));
  const NodeRecord node = Node(machine_.node_uuid);
  EXPECT_EQ(node.state, NodeRecord::kConfigured);
  EXPECT_EQ(node.last_run_result, "ok");
  EXPECT_EQ(node.report_sequence, 57u);
  EXPECT_TRUE(has_pass());
  EXPECT_TRUE(denied_.empty());
  // One that was removed is a new machine.
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  clock_.Advance(absl::Hours(24 * 31));
  EXPECT_THAT(join("c001"), StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

TEST_F(EnrolledNodeTest, MachineWaitingForApprovalLeavesTheOldAlone) {
  ASSERT_OK(enrollment_->Join(Machine(Token("c001", true), "c001")));
  EXPECT_EQ(Node(machine_.node_uuid).state, NodeRecord::kEnrolled);
  EXPECT_TRUE(denied_.empty());
  ASSERT_OK(enrollment_->Approve({"c001"}, {}, kAdmin));
  EXPECT_EQ(Node(machine_.node_uuid).state, NodeRecord::kRemoved);
  EXPECT_EQ(denied_.size(), 1u);
}

TEST_F(EnrolledNodeTest, SeveralWaitingAreNotGuessedAmong) {
  ASSERT_OK(enrollment_->Join(Machine(Token("c002", true), "c002")));
  ASSERT_OK(enrollment_->Join(Machine(Token("c002", true), "c002")));
  EXPECT_THAT(enrollment_->Approve({"c002"}, {}, kAdmin),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  ASSERT_OK(enrollment_->Remove({"c002"}, "unclear", kAdmin));
  EXPECT_TRUE(enrollment_->ListPending().value().empty());
  EXPECT_THAT(enrollment_->Approve({"c002"}, {}, kAdmin),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(EnrolledNodeTest, RemoveDeniesCertificatesAndRevokesTokens) {
  const std::string open = Token("c001");
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  EXPECT_TRUE(denylist_.Contains(Serial(certificate_)));
  EXPECT_EQ(LastEvent().action, "node.remove");
  EXPECT_EQ(LastEvent().detail, "sold");
  EXPECT_EQ(enrollment_->Join(Machine(open, "c001")).status().code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(enrollment_->Remove({"c001"}, "again", kAdmin),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(EnrolledNodeTest, RemoveForgetsTheDiskAndAJoinDoesNot) {
  const auto disks = [&] {
    std::vector<BootDiskRecord> all;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(all, txn.boots().ListDisks());
      return absl::OkStatus();
    }));
    return all.size();
  };
  ASSERT_OK(store_->Update([](Transaction& txn) {
    return txn.boots().PutDisk({.node = "c001", .boot_id = "b1", .what = "stateful"});
  }));
  // The machine has a new identity, as one that has just written its disk.
  ASSERT_OK(enrollment_->Join(Machine(Token("c001"), "c001")));
  ASSERT_EQ(Node(machine_.node_uuid).state, NodeRecord::kRemoved);
  EXPECT_EQ(disks(), 1u);
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  EXPECT_EQ(disks(), 0u);
}

TEST_F(EnrolledNodeTest, RemoveIsAllOrNothing) {
  EXPECT_FALSE(enrollment_->Remove({"c001", "c002"}, "x", kAdmin).ok());
  EXPECT_EQ(Node(machine_.node_uuid).state, NodeRecord::kEnrolled);
  EXPECT_TRUE(denied_.empty());
}

TEST_F(EnrolledNodeTest, DenialSurvivesARestartAndTheCertificatesEnd) {
  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  for (const absl::Duration later : {absl::ZeroDuration(), absl::Hours(24 * 400)}) {
    clock_.Advance(later);
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.certificates().RemoveExpired(clock_.Now(), clock_.Now()).status();
    }));
    Denylist restarted;
    ASSERT_OK(restarted.Load(*store_));
    EXPECT_TRUE(restarted.Contains(Serial(certificate_)));
  }
}

TEST_F(EnrolledNodeTest, RenewsWithANewKeyOnly) {
  const Actor self = {"node:" + machine_.node_uuid, "p"};
  EXPECT_THAT(enrollment_->Renew(machine_.node_uuid, certificate_, machine_.csr_pem, self),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  const std::string csr = pki::MakeKeyAndCsr("whatever").value().csr_pem;
  clock_.Advance(absl::Hours(12));
  const std::string renewed =
      enrollment_->Renew(machine_.node_uuid, certificate_, csr, self).value();
  const pki::Certificate certificate = pki::ParseCertificate(renewed).value();
  EXPECT_EQ(certificate.common_name, "c001");
  EXPECT_EQ(certificate.not_after, clock_.Now() + absl::Hours(24 * 30));
  EXPECT_FALSE(denylist_.Contains(Serial(certificate_)));

  ASSERT_OK(enrollment_->Remove({"c001"}, "sold", kAdmin));
  EXPECT_TRUE(denylist_.Contains(certificate.serial));
  EXPECT_THAT(enrollment_->Renew(machine_.node_uuid, renewed,
                                 pki::MakeKeyAndCsr("x").value().csr_pem, self),
              StatusIs(absl::StatusCode::kPermissionDenied, Said()));
}

}  // namespace
}  // namespace muster::controller
