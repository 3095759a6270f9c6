// The bundles that operators may run, and their attempts to run others.
#include "controller/artifact/bundle_approvals.h"

#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/status.h"
#include "controller/store/soci/store.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Files = std::map<std::string, std::string>;

constexpr char kEve[] = "operator:eve";
constexpr char kSite[] = "playbooks/site.yaml";
const std::string kOne(64, '1');
const std::string kTwo = std::string(12, '1') + std::string(52, '2');

auto Denied(const std::string& what) {
  return StatusIs(absl::StatusCode::kPermissionDenied, AllOf(Said(), HasSubstr(what)));
}

class BundleApprovalsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenStore(":memory:");
    Upload(kOne, {{kSite, "a"}, {"playbooks/wipe.yaml", "w"}, {"playbooks/suites/q.yaml", "q"}});
  }
  void Upload(const std::string& sha256, const Files& files) {
    bundles_[sha256] = files;
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.bundles().Put({sha256, 1, clock_.Now(), kEve});
    }));
  }
  BundleApprovals Approvals(bool is_strict = true) {
    return BundleApprovals(
        *store_, clock_,
        [this](const std::string& sha256) -> absl::StatusOr<Files> {
          const auto found = bundles_.find(sha256);
          if (found == bundles_.end()) return absl::NotFoundError("no bundle");
          return found->second;
        },
        is_strict);
  }
  absl::Status MayRun(const std::string& path = kSite,
                      const std::map<std::string, std::string>& variables = {},
                      const std::string& actor = kEve) {
    return Approvals().MayRun(actor, {kOne, path, variables});
  }
  // Like an administrator's apply.
  void Apply(const std::string& path, const std::string& actor = "admin:alice") {
    const auto approval = Approvals().ByRunning(actor, kOne, path, "r-1");
    if (!approval.has_value()) return;
    ASSERT_OK(
        store_->Update([&](Transaction& txn) { return BundleApprovals::Keep(txn, *approval); }));
  }

  testing::FakeClock clock_;
  std::map<std::string, Files> bundles_;
  std::unique_ptr<Store> store_;
  const Actor alice_ = {"admin:alice", "10.0.0.1:1"};
};

// A policy of the inventory has no rights of its own, whoever wrote it.
TEST_F(BundleApprovalsTest, PoliciesRunWhatIsApprovedAlone) {
  const std::string policy = PolicyActor("nightly").name;
  EXPECT_THAT(MayRun(kSite, {}, policy), Denied("nightly is a policy"));
  Apply(kSite);
  EXPECT_OK(MayRun(kSite, {}, policy));
  EXPECT_THAT(MayRun("playbooks/wipe.yaml", {}, policy), Denied("playbooks/wipe.yaml"));
  EXPECT_FALSE(Approvals().ByRunning(policy, kOne, kSite, "r-2").has_value())
      << "what a policy runs is not approved by it";
  ASSERT_OK(Approvals().Revoke(kOne, alice_));
  EXPECT_THAT(MayRun(kSite, {}, policy), Denied("has revoked"));
  // Where operators run anything, policies still do not.
  EXPECT_OK(Approvals(/*is_strict=*/false).MayRun(kEve, {kOne, kSite, {}}));
  EXPECT_THAT(Approvals(/*is_strict=*/false).MayRun(policy, {kOne, kSite, {}}),
              Denied("has revoked"));
  EXPECT_THAT(Approvals(/*is_strict=*/false).MayValidate(policy, kOne), Denied("suites"));
}

TEST_F(BundleApprovalsTest, OperatorsRunWhatAnAdministratorHasAppliedAndNoMore) {
  EXPECT_THAT(MayRun(),
              StatusIs(absl::StatusCode::kPermissionDenied, AllOf(Said(), HasSubstr(kSite))));
  EXPECT_OK(MayRun(kSite, {}, "admin:alice"));
  EXPECT_OK(MayRun(kSite, {}, "controller"));
  EXPECT_THAT(MayRun(kSite, {}, "viewer:eve"), Denied("eve is a viewer"));
  Apply(kSite, kEve);  // an operator's own apply approves nothing
  EXPECT_THAT(MayRun(), Denied(kSite));
  Apply(kSite);
  EXPECT_OK(MayRun());
  // Other files in the same bundle were not applied.
  EXPECT_THAT(MayRun("playbooks/wipe.yaml"), Denied("playbooks/wipe.yaml"));
  EXPECT_OK(Approvals(/*is_strict=*/false).MayRun(kEve, {kTwo, "x.yaml", {{"a", "1"}}}));
}

TEST_F(BundleApprovalsTest, AnApprovalIsOfAllOrOfOnePlaybook) {
  ASSERT_OK(Approvals().Approve(kOne, kSite, {}, alice_));
  EXPECT_OK(MayRun());
  EXPECT_THAT(MayRun("playbooks/wipe.yaml"), Denied("wipe"));
  ASSERT_OK(Approvals().Approve(kOne, "", {}, alice_));
  EXPECT_OK(MayRun("playbooks/wipe.yaml"));
  EXPECT_THAT(Approvals().Approve(kOne, "playbooks/nix.yaml", {}, alice_),
              StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(BundleApprovalsTest, VariablesOutrankTheSiteSoOnlyNamedOnesAreTaken) {
  Apply(kSite);
  EXPECT_THAT(MayRun(kSite, {{"admin_keys", "\"ssh-ed25519 AAAA eve\""}}),
              Denied("muster bundle approve 111111111111 --vars admin_keys"));
  ASSERT_OK(Approvals().Approve(kOne, "", {"ntp"}, alice_));
  EXPECT_OK(MayRun(kSite, {{"ntp", "\"10.0.0.1\""}}));
  EXPECT_THAT(MayRun(kSite, {{"ntp", "1"}, {"dns", "1"}}), Denied("--vars dns,ntp"));
  // Plain values: a template would be rendered by a role that may read secrets.
  for (const char* value :
       {"\"{{ secret('munge_key') }}\"", "\"{% set x %}\"", "\"{# #}\"", "[\"a\", \"{{ x }}\"]",
        "{\"{{ x }}\": 1}", "\"\\u007b\\u007b secret('munge_key') }}\"",
        "\"\\u007B{ secret('munge_key') }}\""}) {
    EXPECT_THAT(MayRun(kSite, {{"ntp", value}}), Denied("plain values")) << value;
  }
  EXPECT_OK(MayRun(kSite, {{"ntp", "{\"a\": {\"b\": 1}}"}}));
  EXPECT_THAT(MayRun(kSite, {{"ntp", std::string(1 << 20, '[') + std::string(1 << 20, ']')}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-e ntp: ")));
}

TEST_F(BundleApprovalsTest, WhatIsRevokedStaysSoThoughItIsAppliedAgain) {
  EXPECT_THAT(Approvals().Revoke(kOne, alice_), StatusIs(absl::StatusCode::kNotFound, Said()));
  Apply(kSite);
  ASSERT_OK(Approvals().Revoke(kOne, {"admin:bob", ""}));
  EXPECT_THAT(MayRun(), Denied("admin:bob has revoked"));
  Apply(kSite);
  Apply("playbooks/wipe.yaml");
  EXPECT_THAT(MayRun(), Denied("revoked"));
  EXPECT_THAT(MayRun("playbooks/wipe.yaml"), Denied("wipe"));
  ASSERT_OK(Approvals().Approve(kOne, "", {}, alice_));
  EXPECT_OK(MayRun());
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(events.at(0).action, "bundle.approve");
    EXPECT_EQ(events.at(1).action, "bundle.revoke");
    EXPECT_EQ(events.at(1).actor, "admin:bob");
    return absl::OkStatus();
  }));
}

TEST_F(BundleApprovalsTest, ValidationsNeedSuitesAndHardwareThatAnAdministratorHasSeen) {
  // The files that `muster validate` packs from the applied site.
  Upload(kTwo, {{"playbooks/suites/q.yaml", "q"}});
  const auto may = [&] { return Approvals().MayValidate(kEve, kTwo); };
  EXPECT_THAT(may(), Denied("muster bundle approve 111111111111"));
  Apply(kSite);
  EXPECT_OK(may());
  // A floor that lets broken hardware pass is not the administrator's.
  Upload(kTwo, {{"playbooks/suites/q.yaml", "q"}, {"inventory/hardware/t4.yaml", "floor: 0"}});
  EXPECT_THAT(may(), Denied("hardware files"));
  Upload(kTwo, {{"playbooks/suites/q.yaml", "r"}});
  EXPECT_THAT(may(), Denied("suites"));
  EXPECT_OK(Approvals().MayValidate("admin:alice", kTwo));
  Upload(kTwo, {{"playbooks/suites/q.yaml", "q"}});
  ASSERT_OK(Approvals().Revoke(kOne, alice_));
  EXPECT_THAT(may(), Denied("suites"));
  // Bundles without suites are not equal just because they have none.
  Upload(kTwo, {{"x", "y"}});
  ASSERT_OK(Approvals().Approve(kTwo, "", {}, alice_));
  Upload(std::string(64, '3'), {{"z", "z"}});
  EXPECT_THAT(Approvals().MayValidate(kEve, std::string(64, '3')), Denied("suites"));
}

TEST_F(BundleApprovalsTest, FilesThatRunTogetherHaveDifferentDigests) {
  const auto digest = [](const std::string& a, const std::string& b) {
    return SuitesDigest({{"playbooks/suites/" + a, b}});
  };
  EXPECT_NE(digest("ab", "c"), digest("a", "bc"));
  EXPECT_NE(digest("a", ""), digest("a1", ""));
  EXPECT_EQ(SuitesDigest({{"inventory/hardware/a.yaml", "x"}}), "");
}

TEST_F(BundleApprovalsTest, ABundleIsNamedByTheBeginningOfItsDigestIfThatIsClear) {
  EXPECT_EQ(*Approvals().Find("11111111"), kOne);
  Upload(kTwo, {});
  EXPECT_THAT(Approvals().Find("111111111111"),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_EQ(*Approvals().Find("1111111111112"), kTwo);
  EXPECT_THAT(Approvals().Find("1111111"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(Approvals().Find("../../etc"),
              StatusIs(absl::StatusCode::kInvalidArgument, Not(HasSubstr("uploaded"))));
  EXPECT_THAT(Approvals().Find("99999999"), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
