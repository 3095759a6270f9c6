#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const absl::Time kTablesNow = absl::FromUnixMicros(1700000000123456);

class StoreTablesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto store = OpenStore(":memory:");
    ASSERT_OK(store);
    store_ = *std::move(store);
  }
  absl::Status Update(absl::FunctionRef<absl::Status(Transaction&)> fn) {
    return store_->Update(fn);
  }
  absl::Status View(absl::FunctionRef<absl::Status(Transaction&)> fn) { return store_->View(fn); }

  std::unique_ptr<Store> store_;
};

NodeRecord SampleNode(const std::string& uuid, const std::string& name) {
  NodeRecord node;
  node.uuid = uuid;
  node.name = name;
  node.state = NodeRecord::kEnrolled;
  node.description = "it's a \"machine\"; ümlaut";
  node.agent_version = "0.1.0";
  node.boot_id = "boot";
  node.earlier_boots = "boot1 boot2";
  node.enrolled_at = kTablesNow;
  node.plan_sequence = uint64_t{1} << 40;
  node.report_sequence = 3;
  node.last_run_id = "r-1";
  node.last_run_result = "changed";
  return node;
}

TEST_F(StoreTablesTest, NodeComesBackAsItWasPut) {
  ASSERT_OK(Update([](Transaction& txn) { return txn.nodes().Put(SampleNode("u1", "c001")); }));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().GetByName("c001"));
    const NodeRecord want = SampleNode("u1", "c001");
    EXPECT_EQ(node.uuid, want.uuid);
    EXPECT_EQ(node.state, want.state);
    EXPECT_EQ(node.description, want.description);
    EXPECT_EQ(node.agent_version, want.agent_version);
    EXPECT_EQ(node.boot_id, want.boot_id);
    EXPECT_EQ(node.earlier_boots, want.earlier_boots);
    EXPECT_EQ(node.enrolled_at, want.enrolled_at);
    EXPECT_EQ(node.last_seen_at, std::nullopt);
    EXPECT_EQ(node.plan_sequence, want.plan_sequence);
    EXPECT_EQ(node.report_sequence, want.report_sequence);
    EXPECT_EQ(node.last_run_id, want.last_run_id);
    EXPECT_EQ(node.last_run_result, want.last_run_result);
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, SequencesAndTouchesLeaveTheOtherColumns) {
  const NodeTouch touch = {kTablesNow + absl::Hours(1), "boot3", "boot1 boot2 boot", "0.2.0"};
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u2", "c002")));
    RETURN_IF_ERROR(txn.nodes().SetSequences("u1", (uint64_t{1} << 40) + 1, 4));
    RETURN_IF_ERROR(txn.nodes().Touch("u1", touch));
    // Machines that are not there any more.
    RETURN_IF_ERROR(txn.nodes().SetSequences("u3", 1, 1));
    return txn.nodes().Touch("u3", touch);
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    EXPECT_EQ(nodes.size(), 2u);
    const NodeRecord before = SampleNode("u1", "c001");
    ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().Get("u1"));
    EXPECT_EQ(node.plan_sequence, before.plan_sequence + 1);
    EXPECT_EQ(node.report_sequence, 4u);
    EXPECT_EQ(node.last_seen_at, touch.last_seen_at);
    EXPECT_EQ(node.boot_id, touch.boot_id);
    EXPECT_EQ(node.earlier_boots, touch.earlier_boots);
    EXPECT_EQ(node.agent_version, touch.agent_version);
    EXPECT_EQ(node.name, before.name);
    EXPECT_EQ(node.state, before.state);
    EXPECT_EQ(node.description, before.description);
    EXPECT_EQ(node.enrolled_at, before.enrolled_at);
    EXPECT_EQ(node.last_run_id, before.last_run_id);
    EXPECT_EQ(node.last_run_result, before.last_run_result);
    ASSIGN_OR_RETURN(const NodeRecord other, txn.nodes().Get("u2"));
    EXPECT_EQ(other.report_sequence, before.report_sequence);
    EXPECT_EQ(other.last_seen_at, std::nullopt);
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, FactsBelongToAMachineThatIsThere) {
  const std::string facts("\x00\x01\xff'\x00tail", 9);
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    NodeRecord removed = SampleNode("u0", "c000");
    removed.state = NodeRecord::kRemoved;
    RETURN_IF_ERROR(txn.nodes().Put(removed));
    RETURN_IF_ERROR(txn.nodes().PutFacts("u0", "old"));
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
    RETURN_IF_ERROR(txn.nodes().PutFacts("u1", "earlier"));
    EXPECT_THAT(txn.nodes().PutFacts("u2", facts), StatusIs(absl::StatusCode::kNotFound, Said()));
    return txn.nodes().PutFacts("u1", facts);
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.nodes().Facts("u1").value(), facts);
    EXPECT_EQ(txn.nodes().Facts("u2").value(), "");
    std::vector<std::string> seen;
    RETURN_IF_ERROR(txn.nodes().ForEachFacts([&](const std::string& name, const std::string& text) {
      seen.push_back(name);
      EXPECT_EQ(text, facts);
    }));
    EXPECT_THAT(seen, ElementsAre("c001"));
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, OpenPlansStayUntilTheirEndAndAreBounded) {
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u2", "c002")));
    RETURN_IF_ERROR(txn.open_plans().Put({"u2", "r-0/0", 1, "ff"}));
    for (uint64_t i = 1; i <= OpenPlanTable::kMaxPerNode + 2; ++i)
      RETURN_IF_ERROR(txn.open_plans().Put({"u1", absl::StrCat("r-", i, "/0"), i, "ab cd"}));
    return absl::OkStatus();
  }));
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto plans, txn.open_plans().List("u1"));
    EXPECT_EQ(plans.size(), static_cast<size_t>(OpenPlanTable::kMaxPerNode));
    EXPECT_EQ(plans[0].plan_id, "r-3/0");
    EXPECT_EQ(plans[0].blobs, "ab cd");
    RETURN_IF_ERROR(txn.open_plans().RemoveUpTo("u1", "r-none/0"));
    return txn.open_plans().RemoveUpTo("u1", "r-8/0");
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto plans, txn.open_plans().List("u1"));
    EXPECT_EQ(plans.size(), 2u);
    EXPECT_EQ(plans[0].sequence, 9u);
    EXPECT_EQ(txn.open_plans().List("u2")->size(), 1u);
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, NameBelongsToOneLivingMachine) {
  ASSERT_OK(Update([](Transaction& txn) { return txn.nodes().Put(SampleNode("u1", "c001")); }));
  EXPECT_THAT(Update([](Transaction& txn) { return txn.nodes().Put(SampleNode("u2", "c001")); }),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
  ASSERT_OK(Update([](Transaction& txn) -> absl::Status {
    NodeRecord old = SampleNode("u1", "c001");
    old.state = NodeRecord::kRemoved;
    RETURN_IF_ERROR(txn.nodes().Put(old));
    return txn.nodes().Put(SampleNode("u2", "c001"));
  }));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.nodes().GetByName("c001")->uuid, "u2");
    EXPECT_EQ(txn.nodes().List()->size(), 2u);
    EXPECT_THAT(txn.nodes().Get("u3"), StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, UpdateKeepsAllOrNothing) {
  EXPECT_THAT(Update([](Transaction& txn) -> absl::Status {
                RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
                return absl::CancelledError("second thoughts");
              }),
              StatusIs(absl::StatusCode::kCancelled, "second thoughts"));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    EXPECT_THAT(*txn.nodes().List(), IsEmpty());
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, ViewKeepsNothing) {
  ASSERT_OK(View([](Transaction& txn) { return txn.nodes().Put(SampleNode("u1", "c001")); }));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    EXPECT_THAT(*txn.nodes().List(), IsEmpty());
    return absl::OkStatus();
  }));
}

CertificateRecord SampleCertificate(const std::string& serial, const std::string& uuid) {
  return {.serial = serial,
          .node_uuid = uuid,
          .user = uuid.empty() ? "alice" : "",
          .role = uuid.empty() ? "admin" : "node",
          .not_before = kTablesNow,
          .not_after = kTablesNow + absl::Hours(24)};
}

TEST_F(StoreTablesTest, DenylistHoldsRevokedCertificatesUntilTheirAuthorityEnds) {
  ASSERT_OK(Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.certificates().Insert(SampleCertificate("aa", "u1")));
    RETURN_IF_ERROR(txn.certificates().Insert(SampleCertificate("bb", "u1")));
    RETURN_IF_ERROR(txn.certificates().Insert(SampleCertificate("cc", "")));
    // The node may come after its certificate, within the transaction.
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
    return txn.certificates().RevokeByNode("u1", kTablesNow + absl::Hours(1));
  }));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    EXPECT_THAT(*txn.certificates().ListDenied(), ElementsAre("aa", "bb"));
    EXPECT_EQ(txn.certificates().ListByNode("u1")->size(), 2u);
    ASSIGN_OR_RETURN(const CertificateRecord user, txn.certificates().Get("cc"));
    EXPECT_EQ(user.user, "alice");
    EXPECT_EQ(user.node_uuid, "");
    EXPECT_EQ(user.revoked_at, std::nullopt);
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, RevokedCertificatesAreRemovedWithTheirAuthorityOnly) {
  ASSERT_OK(Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.nodes().Put(SampleNode("u1", "c001")));
    CertificateRecord denied = SampleCertificate("aa", "u1");
    denied.authority_ends = kTablesNow + absl::Hours(24 * 365);
    RETURN_IF_ERROR(txn.certificates().Insert(denied));
    RETURN_IF_ERROR(txn.certificates().Insert(SampleCertificate("cc", "")));
    return txn.certificates().RevokeByNode("u1", kTablesNow + absl::Hours(1));
  }));
  ASSERT_OK(Update([](Transaction& txn) -> absl::Status {
    const absl::Time before = kTablesNow + absl::Hours(24 * 364);
    EXPECT_EQ(*txn.certificates().RemoveExpired(before, kTablesNow), 0u) << "a person's, a denied";
    EXPECT_EQ(*txn.certificates().RemoveExpired(kTablesNow, before), 1u);
    EXPECT_THAT(*txn.certificates().ListDenied(), ElementsAre("aa"));
    const absl::Time after = kTablesNow + absl::Hours(24 * 366);
    EXPECT_EQ(*txn.certificates().RemoveExpired(after, after), 1u);
    EXPECT_THAT(*txn.certificates().ListDenied(), IsEmpty());
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, RevokedPeopleAreKeptByNameWhetherTheyHaveCertificatesOrNot) {
  const absl::Time later = kTablesNow + absl::Hours(1);
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.certificates().Insert(SampleCertificate("cc", "")));
    RETURN_IF_ERROR(txn.certificates().RevokeByUser("zoe", kTablesNow));
    RETURN_IF_ERROR(txn.certificates().RevokeByUser("alice", later));
    return txn.certificates().RevokeByUser("alice", kTablesNow);  // the clock was set back
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    EXPECT_THAT(*txn.certificates().ListDenied(), ElementsAre("cc"));
    ASSIGN_OR_RETURN(const std::vector<DeniedUserRecord> people,
                     txn.certificates().ListDeniedUsers());
    EXPECT_EQ(people.size(), 2u);
    EXPECT_EQ(people.at(0).name, "alice");
    EXPECT_EQ(people.at(0).denied_before, later);
    EXPECT_EQ(people.at(1).name, "zoe");
    EXPECT_EQ(people.at(1).denied_before, kTablesNow);
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, CertificateOfNoNodeIsRefused) {
  EXPECT_THAT(Update([](Transaction& txn) {
                return txn.certificates().Insert(SampleCertificate("aa", "nobody"));
              }),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(StoreTablesTest, TokensAreMarkedOnce) {
  const TokenRecord token = {.token_id = "t-1",
                             .hash = "00ff",
                             .node_name = "c001",
                             .require_approval = true,
                             .created_by = "alice",
                             .created_at = kTablesNow,
                             .expires_at = kTablesNow + absl::Hours(1)};
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.tokens().Insert(token));
    RETURN_IF_ERROR(txn.tokens().MarkUsed("t-1", kTablesNow + absl::Minutes(1)));
    RETURN_IF_ERROR(txn.tokens().Revoke("t-1", kTablesNow + absl::Minutes(2)));
    return txn.tokens().Revoke("t-1", kTablesNow + absl::Minutes(3));
  }));
  ASSERT_OK(View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const TokenRecord got, txn.tokens().GetByHash("00ff"));
    EXPECT_TRUE(got.require_approval);
    EXPECT_EQ(got.used_at, kTablesNow + absl::Minutes(1));
    EXPECT_EQ(got.revoked_at, kTablesNow + absl::Minutes(2));
    EXPECT_EQ(txn.tokens().List()->size(), 1u);
    return absl::OkStatus();
  }));
  EXPECT_THAT(Update([&](Transaction& txn) { return txn.tokens().MarkUsed("t-2", kTablesNow); }),
              StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Update([&](Transaction& txn) { return txn.tokens().Insert(token); }),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
}

TEST_F(StoreTablesTest, EnrollmentsComeAndGo) {
  EnrollmentRecord row = {.enrollment_id = "e-1",
                          .token_hash = "h",
                          .node_uuid = "u",
                          .node_name = "c001",
                          .csr_pem = "csr",
                          .description = "d",
                          .peer = "p",
                          .requested_at = kTablesNow};
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.enrollments().Put(row));
    row.certificate_pem = "pem";
    row.rejected = true;
    return txn.enrollments().Put(row);
  }));
  ASSERT_OK(Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const EnrollmentRecord got, txn.enrollments().Get("e-1"));
    EXPECT_EQ(got.certificate_pem, "pem");
    EXPECT_TRUE(got.rejected);
    EXPECT_EQ(got.requested_at, kTablesNow);
    EXPECT_EQ(txn.enrollments().List()->size(), 1u);
    RETURN_IF_ERROR(txn.enrollments().Delete("e-1"));
    EXPECT_THAT(txn.enrollments().Get("e-1"),
                StatusIs(absl::StatusCode::kNotFound, "no enrollment e-1"));
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, ApprovalsOfBundlesComeBack) {
  BundleApprovalRecord approval{.sha256 = "beef",
                                .path = "site.yaml",
                                .suites_digest = "cafe",
                                .variables = "ntp dns",
                                .run_id = "r-1",
                                .approved_by = "admin:alice",
                                .approved_at = kTablesNow,
                                .revoked_by = "",
                                .revoked_at = std::nullopt};
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.bundle_approvals().Put(approval));
    approval.revoked_by = "admin:bob";
    approval.revoked_at = kTablesNow + absl::Seconds(1);
    RETURN_IF_ERROR(txn.bundle_approvals().Put(approval));
    approval.sha256 = "f00d";
    approval.approved_at = kTablesNow + absl::Seconds(2);
    return txn.bundle_approvals().Put(approval);
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto of_one, txn.bundle_approvals().List("beef"));
    EXPECT_EQ(of_one.size(), 1u);
    EXPECT_EQ(of_one.at(0).variables, "ntp dns");
    EXPECT_EQ(of_one.at(0).suites_digest, "cafe");
    EXPECT_EQ(of_one.at(0).revoked_by, "admin:bob");
    EXPECT_EQ(of_one.at(0).revoked_at, kTablesNow + absl::Seconds(1));
    ASSIGN_OR_RETURN(const auto all, txn.bundle_approvals().List());
    EXPECT_EQ(all.size(), 2u);
    EXPECT_EQ(all.at(0).sha256, "f00d");
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, ARestoreMarksTheMembersUntilEachIsSeen) {
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(*txn.restores().RestoredAt(), std::nullopt);
    for (const char* name : {"c002", "c001"})
      RETURN_IF_ERROR(txn.nodes().Put({.uuid = absl::StrCat("restored-", name), .name = name}));
    RETURN_IF_ERROR(
        txn.nodes().Put({.uuid = "restored-gone", .name = "c001", .state = NodeRecord::kRemoved}));
    RETURN_IF_ERROR(txn.restores().Begin(kTablesNow));
    RETURN_IF_ERROR(txn.restores().Begin(kTablesNow + absl::Hours(1)));
    RETURN_IF_ERROR(txn.restores().MarkSeen("restored-c002"));
    return txn.restores().MarkSeen("of no node");
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(*txn.restores().RestoredAt(), kTablesNow + absl::Hours(1));
    ASSIGN_OR_RETURN(const auto unseen, txn.restores().ListUnseen());
    EXPECT_EQ(unseen.size(), 1u);
    EXPECT_EQ(unseen.at(0), std::make_pair(std::string("restored-c001"), std::string("c001")));
    return absl::OkStatus();
  }));
}

TEST_F(StoreTablesTest, BundlesInventoryAndSecretsComeBack) {
  const std::string binary("\x00\x80\xff\n", 4);
  ASSERT_OK(Update([&](Transaction& txn) -> absl::Status {
    EXPECT_THAT(txn.inventory().Latest(), StatusIs(absl::StatusCode::kNotFound, Said()));
    RETURN_IF_ERROR(txn.bundles().Put({"beef", 11, kTablesNow, "operator:eve"}));
    RETURN_IF_ERROR(txn.bundles().Put({"beef", 12, kTablesNow, "operator:mallory"}));
    RETURN_IF_ERROR(txn.inventory().Insert({1, kTablesNow, "alice", binary}));
    RETURN_IF_ERROR(txn.inventory().Insert({2, kTablesNow, "bob", ""}));
    RETURN_IF_ERROR(txn.secrets().Put({"munge_key", 1, "old", kTablesNow, "alice"}));
    return txn.secrets().Put({"munge_key", 2, binary, kTablesNow, "bob", "munge,slurm"});
  }));
  ASSERT_OK(View([&](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.bundles().Get("beef")->size, 12u);
    EXPECT_EQ(txn.bundles().Get("beef")->uploaded_by, "operator:eve");
    EXPECT_EQ(txn.inventory().Latest()->revision, 2u);
    EXPECT_EQ(txn.inventory().Get(1)->files, binary);
    EXPECT_EQ(txn.inventory().Get(2)->files, "");
    ASSIGN_OR_RETURN(const SecretRecord secret, txn.secrets().Get("munge_key"));
    EXPECT_EQ(secret.version, 2u);
    EXPECT_EQ(secret.sealed, binary);
    EXPECT_EQ(secret.roles, "munge,slurm");
    EXPECT_EQ(txn.secrets().List()->size(), 1u);
    return absl::OkStatus();
  }));
  EXPECT_THAT(Update([&](Transaction& txn) {
                return txn.inventory().Insert({2, kTablesNow, "x", ""});
              }),
              StatusIs(absl::StatusCode::kAlreadyExists, Said()));
}

}  // namespace
}  // namespace muster::controller
