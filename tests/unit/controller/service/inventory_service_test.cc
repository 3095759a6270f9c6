#include "controller/service/inventory_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/enrollment/enrollment.h"
#include "controller/inventory/inventory.h"
#include "controller/run/plan/stored_inventory.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCluster[] = R"(
cluster: demo
nodes:
  login1: {role: login}
  c[001-003]: {role: compute}
)";

template <typename Request>
Request With(const std::string& content, const std::string& path = "cluster.yaml") {
  Request request;
  v1::InventoryFile& file = *request.add_files();
  file.set_path(path);
  file.set_content(content);
  return request;
}

class InventoryServiceTest : public ::testing::Test {
 protected:
  uint64_t MustApply(const std::string& content) {
    v1::ApplyInventoryResponse response;
    EXPECT_OK(service_.Apply(With<v1::ApplyInventoryRequest>(content), alice_, response));
    changes_.assign(response.changes().begin(), response.changes().end());
    return response.revision();
  }

  const Actor alice_ = {"admin:alice", "10.0.0.1:1"};
  testing::FakeClock clock_;
  std::unique_ptr<Store> store_ = *OpenStore(":memory:");
  InventoryService service_{*store_, clock_, "demo"};
  std::vector<std::string> changes_;
};

TEST_F(InventoryServiceTest, SaysThatTheControllerHasAnotherCluster) {
  v1::ApplyInventoryResponse same, other;
  ASSERT_OK(service_.Apply(With<v1::ApplyInventoryRequest>(kCluster), alice_, same));
  EXPECT_EQ(same.controller_cluster(), "");
  const auto request =
      With<v1::ApplyInventoryRequest>("cluster: prod\nnodes: {c001: {role: compute}}\n");
  for (const char* when : {"applied", "in force already"}) {
    other.Clear();
    ASSERT_OK(service_.Apply(request, alice_, other)) << when;
    EXPECT_EQ(other.controller_cluster(), "demo") << when;
    EXPECT_EQ(other.inventory_cluster(), "prod") << when;
  }
}

TEST_F(InventoryServiceTest, MakesARevisionOnlyOfAChange) {
  EXPECT_EQ(MustApply(kCluster), 1u);
  EXPECT_FALSE(changes_.empty());
  EXPECT_EQ(MustApply(std::string(kCluster) + "# only a comment\n"), 1u);
  EXPECT_THAT(changes_, IsEmpty());
  EXPECT_EQ(MustApply(std::string(kCluster) + "  c004: {role: compute}\n"), 2u);
  EXPECT_THAT(changes_, ElementsAre(HasSubstr("c004")));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto events, txn.events().List(10, 0));
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].action, "inventory.apply");
    EXPECT_EQ(events[0].actor, "admin:alice");
    EXPECT_EQ(events[0].subject, "revision 2");
    return absl::OkStatus();
  }));
}

TEST_F(InventoryServiceTest, GivesBackEarlierRevisionsByTheirNumbers) {
  MustApply(kCluster);
  MustApply(std::string(kCluster) + "  c004: {role: compute}\n");
  v1::GetInventoryRequest request;
  request.set_revision(1);
  v1::GetInventoryResponse response;
  ASSERT_OK(service_.Get(request, response));
  EXPECT_EQ(response.revision(), 1u);
  EXPECT_EQ(response.base().revision(), 1u);
  EXPECT_EQ(response.files(0).content(), kCluster);
  request.set_revision(3);
  EXPECT_THAT(service_.Get(request, response), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(InventoryServiceTest, GivesBackWhatIsInForce) {
  v1::GetInventoryResponse response;
  EXPECT_THAT(service_.Get({}, response), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  MustApply(kCluster);
  ASSERT_OK(service_.Get({}, response));
  EXPECT_EQ(response.revision(), 1u);
  EXPECT_EQ(response.applied_by(), "admin:alice");
  EXPECT_EQ(response.files(0).content(), kCluster);
  EXPECT_TRUE(nlohmann::ordered_json::parse(response.resolved_json()).contains("nodes"));
}

TEST_F(InventoryServiceTest, FilesOfAnEarlierRevisionUndoNothingUnseen) {
  const auto apply = [&](const std::string& content, const v1::InventoryBase& base,
                         v1::ApplyInventoryResponse& response) {
    auto request = With<v1::ApplyInventoryRequest>(content);
    *request.mutable_base() = base;
    response.Clear();
    return service_.Apply(request, {"admin:bob", "10.0.0.2:1"}, response);
  };
  MustApply(kCluster);
  v1::GetInventoryResponse pulled;
  ASSERT_OK(service_.Get({}, pulled));
  const std::string by_bob = std::string(kCluster) + "  c004: {role: compute}\n";
  v1::ApplyInventoryResponse response;
  ASSERT_OK(apply(by_bob, pulled.base(), response));
  const v1::InventoryBase bobs = response.base();
  EXPECT_EQ(bobs.revision(), 2u);
  // Alice still has what she pulled.
  const std::string by_alice = std::string(kCluster) + "  login2: {role: login}\n";
  EXPECT_THAT(apply(by_alice, pulled.base(), response),
              StatusIs(absl::StatusCode::kAborted, Said()));
  EXPECT_OK(apply(by_bob, pulled.base(), response)) << "the same as what is in force";
  EXPECT_EQ(response.base().revision(), 2u);
  EXPECT_EQ(response.base().sha256(), bobs.sha256());
  // A revision of that number of another cluster says nothing.
  v1::InventoryBase elsewhere = pulled.base();
  elsewhere.set_sha256(std::string(64, '0'));
  EXPECT_OK(apply(by_bob + "  login2: {role: login}\n", elsewhere, response));
  elsewhere.set_revision(99);
  EXPECT_OK(apply(by_bob, elsewhere, response));
  EXPECT_EQ(response.revision(), 4u);
}

TEST_F(InventoryServiceTest, RefusesAPlaceForSlurmctldThatIsNoNode) {
  const auto apply = [this](const std::string& content) {
    v1::ApplyInventoryResponse response;
    return service_.Apply(With<v1::ApplyInventoryRequest>(content), alice_, response);
  };
  const std::string typo = std::string(kCluster) + "vars: {slurm_controller: logn1}\n";
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::AllOf(HasSubstr("cluster.yaml:6"), HasSubstr("'logn1'")));
  EXPECT_THAT(apply(typo), refused);
  v1::CheckInventoryResponse counts;
  EXPECT_THAT(service_.Check(With<v1::CheckInventoryRequest>(typo), counts), refused);
  EXPECT_EQ(MustApply(std::string(kCluster) + "vars: {slurm_controller: login1}\n"), 1u);
  EXPECT_THAT(apply(typo), refused);
  EXPECT_THAT(apply(std::string(kCluster) + "vars: {slurm_backup_controllers: [logn1]}\n"),
              refused);
  EXPECT_EQ(MustApply("cluster: demo\nnodes:\n  c001: {role: compute}\n"), 2u)
      << "a cluster without Slurm";
}

// A revision from before the rule.
TEST_F(InventoryServiceTest, APlaceForSlurmctldThatWasNoNodeBeforeKeepsNothingElseOut) {
  const std::string outside = std::string(kCluster) + "vars: {slurm_controller: head.example}\n";
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    return txn.inventory().Insert({1, clock_.Now(), "admin:alice",
                                   With<v1::ApplyInventoryRequest>(outside).SerializeAsString()});
  }));
  EXPECT_EQ(MustApply(outside + "groups: {some: {nodes: c001}}\n"), 2u);
}

// An earlier version stored it.
TEST_F(InventoryServiceTest, AnEmptyListThatStandsForEverythingIsRefusedUnlessItIsStored) {
  const std::string before =
      std::string(kCluster) + "updates: {a: {playbook: site.yaml, window: []}}\n";
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    return txn.inventory().Insert({1, clock_.Now(), "admin:alice",
                                   With<v1::ApplyInventoryRequest>(before).SerializeAsString()});
  }));
  v1::ApplyInventoryResponse response;
  EXPECT_EQ(service_.Apply(With<v1::ApplyInventoryRequest>(before), alice_, response).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MustApply(std::string(kCluster) + "updates: {a: {playbook: site.yaml}}\n" +
                      "groups: {some: {nodes: c001}}\n"),
            2u);
}

TEST_F(InventoryServiceTest, ChecksAndComparesWithoutStoring) {
  v1::CheckInventoryResponse counts;
  ASSERT_OK(service_.Check(With<v1::CheckInventoryRequest>(kCluster), counts));
  EXPECT_EQ(counts.nodes(), 4u);
  EXPECT_EQ(counts.groups(), 0u);
  v1::DiffInventoryResponse diff;
  ASSERT_OK(service_.Diff(With<v1::DiffInventoryRequest>(kCluster), diff));
  EXPECT_FALSE(diff.changes().empty());
  v1::GetInventoryResponse none;
  EXPECT_THAT(service_.Get({}, none), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(InventoryServiceTest, SaysWhatWouldBeRenamedAndDroppedAndWhoStaysAMember) {
  v1::DiffInventoryResponse diff;
  ASSERT_OK(service_.Diff(With<v1::DiffInventoryRequest>(kCluster), diff));
  EXPECT_EQ(diff.cluster_before(), "");
  EXPECT_EQ(diff.cluster_after(), "demo");
  EXPECT_THAT(diff.dropped_nodes(), IsEmpty());
  MustApply(kCluster);
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = "u2";
    node.name = "c002";
    node.state = NodeRecord::kConfigured;
    RETURN_IF_ERROR(txn.nodes().Put(node));
    node.uuid = "u3";
    node.name = "c003";
    node.state = NodeRecord::kRemoved;
    return txn.nodes().Put(node);
  }));
  const std::string smaller = "cluster: prod\nnodes:\n  c001: {role: compute}\n";
  diff.Clear();
  ASSERT_OK(service_.Diff(With<v1::DiffInventoryRequest>(smaller), diff));
  EXPECT_EQ(diff.cluster_before(), "demo");
  EXPECT_EQ(diff.cluster_after(), "prod");
  EXPECT_THAT(diff.dropped_nodes(), ElementsAre("login1", "c002", "c003"));
  EXPECT_THAT(diff.dropped_members(), ElementsAre("c002"));
  v1::ApplyInventoryResponse applied;
  ASSERT_OK(service_.Apply(With<v1::ApplyInventoryRequest>(smaller), alice_, applied));
  EXPECT_THAT(applied.dropped_members(), ElementsAre("c002"));
}

TEST_F(InventoryServiceTest, WrongFilesAreRefusedWithTheirPlace) {
  v1::CheckInventoryResponse response;
  EXPECT_THAT(service_.Check(With<v1::CheckInventoryRequest>("cluster: x\nnodse: {}\n"), response),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  EXPECT_THAT(service_.Check({}, response), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  for (const char* path : {"../x.yaml", "/etc/x.yaml", "", "a//b"}) {
    EXPECT_THAT(service_.Check(With<v1::CheckInventoryRequest>(kCluster, path), response),
                StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  }
  EXPECT_THAT(service_.Check(With<v1::CheckInventoryRequest>(std::string(4 << 20, '#')), response),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(InventoryServiceTest, AVariableThatTemplatesNeverSeeIsRefused) {
  v1::CheckInventoryResponse response;
  const auto request =
      With<v1::CheckInventoryRequest>(absl::StrCat(kCluster, "vars: {stack: a, facts: 1}\n"));
  const absl::Status refused = service_.Check(request, response);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("'facts'"));
  EXPECT_THAT(std::string(refused.message()), ::testing::Not(HasSubstr("'stack'")));
}

// Only the roles of a site say whether anything reads it.
TEST_F(InventoryServiceTest, AVariableOfTheSiteLikeOneOfTheControllersIsTaken) {
  v1::CheckInventoryResponse response;
  const auto request = With<v1::CheckInventoryRequest>(absl::StrCat(
      kCluster, "vars: {bmc_users: [admin], bmc_ports: [623], boot_disks: [sda, sdb]}\n"));
  EXPECT_OK(service_.Check(request, response));
}

// They did not fit into the status of a call, and gRPC replaced them by an error of its own.
TEST_F(InventoryServiceTest, HundredsOfErrorsGoIntoTheResponse) {
  std::string text = "cluster: x\nnodes:\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, "  c", i, ": {role: x}\n");
  v1::CheckInventoryResponse response;
  const auto request = With<v1::CheckInventoryRequest>(text);
  EXPECT_TRUE(service_.CheckInventory(nullptr, &request, &response).ok());
  EXPECT_EQ(response.refusal().code(), static_cast<uint32_t>(grpc::INVALID_ARGUMENT));
  ASSERT_EQ(response.refusal().errors_size(), 400);
  EXPECT_THAT(response.refusal().errors(0), HasSubstr("cluster.yaml:3:"));
  EXPECT_THAT(response.refusal().errors(399), HasSubstr("cluster.yaml:402:"));
  EXPECT_EQ(response.refusal().more(), 0u);
  // An error that is not about a file goes into the status.
  v1::CheckInventoryResponse none;
  const v1::CheckInventoryRequest empty;
  EXPECT_EQ(service_.CheckInventory(nullptr, &empty, &none).error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_FALSE(none.has_refusal());
}

TEST_F(InventoryServiceTest, RunsSeeTheRevisionsByNumber) {
  MustApply(kCluster);
  MustApply(std::string(kCluster) + "  c004: {role: compute}\n");
  StoredInventory stored(*store_);
  EXPECT_EQ(stored.Latest()->revision, 2u);
  EXPECT_EQ((*stored.Get(1))->nodes().size(), 4u);
  EXPECT_EQ((*stored.Get(2))->nodes().size(), 5u);
  EXPECT_THAT(stored.Get(3).status(), StatusIs(absl::StatusCode::kNotFound, Said()));
}

}  // namespace
}  // namespace muster::controller
