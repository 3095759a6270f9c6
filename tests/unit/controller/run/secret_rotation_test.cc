// The nodes of a rotation, and the conditions for its next phase; with the real compiler.
#include "controller/run/secret_rotation.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/run/plan/playbook_compiler.h"
#include "controller/run/plan/stored_inventory.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "muster/v1/inventory.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/secret.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/fixtures/temp_dir.h"

namespace muster::controller {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kRotation[] = R"(
- play: stage
  hosts: c[1-3]
  tags: stage
  tasks:
    - name: next
      file: {path: /k.next, content: "{{ secret('key', next=true) }}"}
- play: switch
  hosts: c[1-3]
  tags: switch
  tasks:
    - name: now
      file: {path: /k, content: "{{ secret('key', next=true) }}"}
)";

class SecretRotationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = *OpenStore(":memory:");
    secrets_ = *SecretStore::Open(*store_, clock_, files_, "", folder_.path() + "/key");
    inventory_ = std::make_unique<StoredInventory>(*store_);
    v1::ApplyInventoryRequest request;
    v1::InventoryFile& file = *request.add_files();
    file.set_path("cluster.yaml");
    file.set_content("cluster: t\nnodes:\n  c[1-4]: {role: compute}\n  l1: {role: login}\n");
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.inventory().Insert({1, clock_.Now(), "t", request.SerializeAsString()});
    }));
    for (const char* name : {"c1", "c2", "c3", "l1"}) Enroll(name, "r-old");
    site_["site.yaml"] =
        "- play: p\n  hosts: compute\n  roles: [keyed, plain]\n"
        "- play: q\n  hosts: login\n  roles: [plain]\n";
    site_["roles/keyed/tasks/main.yaml"] = "- name: key\n  file: {path: /k, template: k.j2}\n";
    site_["roles/keyed/templates/k.j2"] = "{{ secret('key', bytes=32) }}";
    site_["roles/plain/tasks/main.yaml"] =
        "- name: other\n  file: {path: /o, content: \"{{ secret('other', bytes=16) }}\"}\n";
    ASSERT_OK(secrets_->Generate("key", 64, false, {"keyed"}, alice_));
  }

  void Enroll(const std::string& name, const std::string& last_run) {
    ASSERT_OK(store_->Update([&](Transaction& txn) {
      return txn.nodes().Put({.uuid = "u" + name,
                              .name = name,
                              .state = NodeRecord::kEnrolled,
                              .last_run_id = last_run});
    }));
    sessions_.Connect("u" + name);
  }

  SecretRotations Rotations() {
    return SecretRotations(
        {*store_, sessions_, compiler_, *inventory_, *secrets_, clock_,
         [this](const std::string&) -> absl::StatusOr<FileTree> { return site_; },
         [](const std::string&, const std::string&) { return absl::OkStatus(); }},
        *secrets_);
  }
  absl::StatusOr<v1::RotateSecretResponse> Rotate(v1::RotationAction action,
                                                  bool without_missing = false) {
    v1::RotateSecretRequest request;
    request.set_name("key");
    request.set_action(action);
    request.set_bundle_sha256("any");
    request.set_site_playbook("site.yaml");
    request.set_without_missing(without_missing);
    return Rotations().Rotate(request, alice_);
  }
  // A run of the rotation's playbook with this end.
  std::string Run(const std::string& tag, const std::string& limit,
                  RunRecord::State state = RunRecord::kSucceeded) {
    v1::CreateRunRequest request;
    request.set_playbook("rotate_key.yaml");
    request.add_tags(tag);
    request.set_limit(limit);
    RunRecord run;
    run.run_id = absl::StrCat("r-", ++runs_);
    run.state = state;
    run.request = request.SerializeAsString();
    run.created_at = clock_.Now();
    EXPECT_OK(store_->Update([&](Transaction& txn) { return txn.runs().Put(run); }));
    return run.run_id;
  }
  absl::StatusOr<v1::AdvanceRotationResponse> Advance(const std::string& run_id) {
    v1::AdvanceRotationRequest request;
    request.set_name("key");
    request.set_run_id(run_id);
    return Rotations().Advance(request, alice_);
  }
  std::string Key() { return *secrets_->Get("key", std::nullopt, keyed_); }
  std::vector<std::string> Actions() {
    std::vector<std::string> actions;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto events, txn.events().List(50, 0));
      for (auto it = events.rbegin(); it != events.rend(); ++it) actions.push_back(it->action);
      return absl::OkStatus();
    }));
    return actions;
  }

  testing::FakeClock clock_;
  sys::RealFileSystem files_;
  testing::TempDir folder_;
  const Actor alice_ = {"admin:alice", "10.0.0.1:1"};
  const SecretReader keyed_ = {"keyed", "site.yaml"};
  const SecretReader rotation_ = {"tasks", "rotate_key.yaml"};
  testing::FakeAgentSessions sessions_;
  PlaybookCompiler compiler_;
  FileTree site_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SecretStore> secrets_;
  std::unique_ptr<StoredInventory> inventory_;
  int runs_ = 0;
};

TEST_F(SecretRotationTest, GoesThroughItsPhasesAndChangesTheValueOnlyAtTheEnd) {
  site_["rotate_key.yaml"] = kRotation;
  const std::string old = Key();
  const auto begun = Rotate(v1::ROTATION_ACTION_START);
  ASSERT_OK(begun);
  EXPECT_EQ(begun->rotation().phase(), v1::ROTATION_PHASE_STAGING);
  EXPECT_EQ(begun->rotation().limit(), "c[1-3]");  // c4 has not joined, l1 does not use it
  EXPECT_EQ(begun->rotation().next_version(), 2u);
  ASSERT_EQ(begun->uses_size(), 1);
  EXPECT_EQ(begun->uses(0).role(), "keyed");
  EXPECT_THAT(begun->uses(0).nodes(), ElementsAre("c1", "c2", "c3", "c4"));
  const std::string next = *secrets_->GetNext("key", rotation_);
  EXPECT_EQ(next.size(), 64u);
  EXPECT_NE(next, old);
  EXPECT_EQ(Key(), old);
  EXPECT_THAT(secrets_->Set("key", SecretBuffer("value"), {}, alice_),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));

  const auto staged = Advance(Run("stage", "c[1-3]"));
  ASSERT_OK(staged);
  EXPECT_EQ(staged->rotation().phase(), v1::ROTATION_PHASE_SWITCHING);
  EXPECT_EQ(Key(), old);
  const auto ended = Advance(Run("switch", "c[1-3]"));
  ASSERT_OK(ended);
  EXPECT_FALSE(ended->has_rotation());
  EXPECT_EQ(ended->version(), 2u);
  EXPECT_EQ(Key(), next);
  EXPECT_THAT(secrets_->GetNext("key", rotation_), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Actions(), ElementsAre("secret.generate", "secret.rotate.start",
                                     "secret.rotate.switch", "secret.rotate.finish"));
}

TEST_F(SecretRotationTest, MissingNodeIsRefusedUnlessLeftOut) {
  site_["rotate_key.yaml"] = kRotation;
  sessions_.Cut("uc2");
  EXPECT_THAT(Rotate(v1::ROTATION_ACTION_START),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_THAT(secrets_->FindRotation("key"), StatusIs(absl::StatusCode::kNotFound, Said()));
  const auto begun = Rotate(v1::ROTATION_ACTION_START, /*without_missing=*/true);
  ASSERT_OK(begun);
  EXPECT_EQ(begun->rotation().limit(), "c[1,3]");
  EXPECT_THAT(begun->missing(), ElementsAre("c2"));
  sessions_.Connect("uc2");
  const auto resumed = Rotate(v1::ROTATION_ACTION_RESUME);
  ASSERT_OK(resumed);
  EXPECT_EQ(resumed->rotation().limit(), "c[1-3]");
}

TEST_F(SecretRotationTest, MachineThatNeverHadARunHoldsNothing) {
  site_["rotate_key.yaml"] = kRotation;
  Enroll("c2", "");
  sessions_.Cut("uc2");
  const auto begun = Rotate(v1::ROTATION_ACTION_START);
  ASSERT_OK(begun);
  EXPECT_EQ(begun->rotation().limit(), "c[1,3]");
}

TEST_F(SecretRotationTest, OnlyTheRightRunThatEndedWellCounts) {
  site_["rotate_key.yaml"] = kRotation;
  const std::string early = Run("stage", "c[1-3]");
  clock_.Advance(absl::Seconds(1));
  ASSERT_OK(Rotate(v1::ROTATION_ACTION_START));
  for (const std::string& run :
       {early, Run("switch", "c[1-3]"), Run("stage", "c1"), Run("stage", "")}) {
    EXPECT_THAT(Advance(run), StatusIs(absl::StatusCode::kFailedPrecondition, Said())) << run;
  }
  for (const auto state : {RunRecord::kRunning, RunRecord::kFailed, RunRecord::kCancelled}) {
    EXPECT_THAT(Advance(Run("stage", "c[1-3]", state)),
                StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  }
  EXPECT_THAT(Advance("r-none"), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_EQ(secrets_->FindRotation("key")->phase, RotationRecord::kStaging);
}

TEST_F(SecretRotationTest, AbandonedWhileStagedIsForgottenAtOnce) {
  site_["rotate_key.yaml"] = kRotation;
  const std::string old = Key();
  ASSERT_OK(Rotate(v1::ROTATION_ACTION_START));
  EXPECT_THAT(Rotate(v1::ROTATION_ACTION_START),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  const auto abandoned = Rotate(v1::ROTATION_ACTION_ABANDON);
  ASSERT_OK(abandoned);
  EXPECT_FALSE(abandoned->has_rotation());
  EXPECT_EQ(Key(), old);
  EXPECT_THAT(Rotate(v1::ROTATION_ACTION_RESUME), StatusIs(absl::StatusCode::kNotFound, Said()));
}

TEST_F(SecretRotationTest, AbandonedLaterTakesTheNodesBack) {
  site_["rotate_key.yaml"] = kRotation;
  const std::string old = Key();
  ASSERT_OK(Rotate(v1::ROTATION_ACTION_START));
  ASSERT_OK(Advance(Run("stage", "c[1-3]")));
  const auto abandoned = Rotate(v1::ROTATION_ACTION_ABANDON);
  ASSERT_OK(abandoned);
  EXPECT_EQ(abandoned->rotation().phase(), v1::ROTATION_PHASE_REVERTING);
  EXPECT_EQ(*secrets_->GetNext("key", rotation_), old);
  const auto ended = Advance(Run("switch", "c[1-3]"));
  ASSERT_OK(ended);
  EXPECT_FALSE(ended->has_rotation());
  EXPECT_EQ(ended->version(), 1u);
  EXPECT_EQ(Key(), old);
}

TEST_F(SecretRotationTest, WithoutAPlaybookTheNewValueIsCurrentAndItsUsersAreNamed) {
  const std::string old = Key();
  sessions_.Cut("uc2");  // `muster apply` reaches it later
  const auto rotated = Rotate(v1::ROTATION_ACTION_START);
  ASSERT_OK(rotated);
  EXPECT_FALSE(rotated->has_rotation());
  EXPECT_EQ(rotated->version(), 2u);
  EXPECT_NE(Key(), old);
  EXPECT_EQ(rotated->uses(0).role(), "keyed");
}

TEST_F(SecretRotationTest, PlaybookThatForgetsAUserIsRefused) {
  site_["rotate_key.yaml"] = kRotation;
  site_["site.yaml"] += "- play: r\n  hosts: login\n  roles: [keyed]\n";
  EXPECT_THAT(Rotate(v1::ROTATION_ACTION_START),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  site_["rotate_key.yaml"] = "- play: p\n  hosts: all\n  roles: [plain]\n";
  EXPECT_THAT(Rotate(v1::ROTATION_ACTION_START),
              StatusIs(absl::StatusCode::kInvalidArgument, Said()));
}

TEST_F(SecretRotationTest, SurvivesARestartOfTheController) {
  site_["rotate_key.yaml"] = kRotation;
  ASSERT_OK(Rotate(v1::ROTATION_ACTION_START));
  const std::string next = *secrets_->GetNext("key", rotation_);
  secrets_ = *SecretStore::Open(*store_, clock_, files_, "", folder_.path() + "/key");
  EXPECT_EQ(*secrets_->GetNext("key", rotation_), next);
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const RotationRecord row, txn.rotations().Get("key"));
    EXPECT_THAT(row.sealed, Not(HasSubstr(next)));
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
