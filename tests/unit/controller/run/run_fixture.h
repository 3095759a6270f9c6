// A run engine over a real store, with fakes for everything else.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller/artifact/bundle_approvals.h"
#include "controller/claim/node_claims.h"
#include "controller/run/collaborators.h"
#include "controller/run/run_engine.h"
#include "controller/store/tables.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/run.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_secret_source.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller {

// The plays are the lines of the playbook's file: "name: node node …", and the suites at its end
// those that begin with ">suite". A plan has one step, "step", which writes the host name from the
// node's facts.
class FakeCompiler final : public Compiler {
 public:
  absl::StatusOr<std::shared_ptr<const Playbook>> Load(const FileTree& site,
                                                       absl::string_view path) override;
  std::vector<std::string> Plays(const Playbook& playbook) override;
  absl::Status CheckTags(const Playbook&, const std::vector<std::string>& tags) override {
    return tags.empty() || tags[0] == "known" ? absl::OkStatus()
                                              : absl::InvalidArgumentError("unknown tag");
  }
  absl::Status CheckVariableNames(const FileTree&, const Inventory&,
                                  const CompileOptions&) override {
    return misspelled;
  }
  absl::StatusOr<std::vector<std::string>> SelectNodes(const Playbook& playbook, size_t play_index,
                                                       const Inventory& inventory,
                                                       absl::string_view limit) override;
  absl::StatusOr<std::vector<PlaybookEnding>> SelectEndings(
      const Playbook& playbook, const Inventory& inventory, absl::string_view limit,
      const std::vector<std::string>& tags) override;
  void Compile(const Playbook& playbook, size_t play_index, const Inventory& inventory,
               const FactsByNode& facts, const std::vector<std::string>& nodes,
               const CompileOptions& options, SecretSource& secrets, size_t batch,
               absl::FunctionRef<bool(std::vector<NodePlan>)> take) override;

  std::map<std::string, absl::Status> errors;  // by node
  absl::Status misspelled;                     // of the inventory's variables
  size_t blob_bytes = 0;                       // a file this large in each plan
  std::optional<v1::RebootResource> reboot;    // step "role/reboot" in each plan

 private:
  NodePlan CompileOne(const std::string& name, const FactsByNode& facts);
};

// A report that comes alone.
std::shared_ptr<const v1::Reports> InOneMessage(const v1::Report& report);

class RunFixture : public ::testing::Test, public InventorySource {
 protected:
  void SetUp() override;

  absl::StatusOr<InventoryVersion> Latest() override;
  absl::StatusOr<std::shared_ptr<const Inventory>> Get(uint64_t revision) override;

  RunCollaborators Collaborators();
  // Puts another inventory in force, without its first line.
  void UseInventory(const std::string& yaml);
  // Like kill -9: a new engine over the same store.
  void Restart();

  void Enroll(const std::string& name);
  void Connect(const std::string& name, const std::string& active_plan_id = "",
               const std::string& boot_id = "");
  void Cut(const std::string& name);
  // Answers GatherFacts of every connected node.
  void AnswerFacts(const std::string& run_id, uint32_t play);
  // The nodes that were asked for their facts since the last look.
  std::vector<std::string> AskedForFacts();
  // Advances the time in steps of a second.
  void Pass(absl::Duration duration);

  // Creates a run of the playbook and answers its first GatherFacts.
  v1::Run MustCreate(const std::string& playbook, const std::string& limit = "",
                     bool check_only = false);
  // The plan that was sent to the node since the last look; fails the test if there is none.
  v1::Plan MustTakePlan(const std::string& name);
  bool TookCancel(const std::string& name);
  void ReportStep(const std::string& name, const std::string& plan_id, v1::StepStatus status,
                  const std::string& step_id = "role/step");
  void ReportOutcome(const std::string& name, const std::string& plan_id, bool succeeded,
                     bool cancelled = false);
  // Reports a changed step and success.
  void Complete(const std::string& name, const std::string& plan_id);

  v1::Run Run(const std::string& run_id);
  // The blobs that the node's open plans name.
  std::string BlobsOf(const std::string& name);
  std::string StateOf(const std::string& run_id, const std::string& node);
  std::vector<RunRecord> Runs();
  NodeRecord NodeOf(const std::string& name);
  std::vector<EventRecord> EventsOf(const std::string& action);  // newest first

  testing::FakeClock clock_;
  testing::FakeAgentSessions sessions_;
  testing::FakeSecretSource secrets_;
  FakeCompiler compiler_;
  FileTree site_;
  std::map<std::string, FileTree> plans_;  // other bundles, by digest
  std::map<std::string, std::string> blobs_;
  std::map<std::string, uint64_t> report_sequence_;
  std::unique_ptr<Store> store_;
  std::shared_ptr<const Inventory> inventory_;  // in force
  std::unique_ptr<NodeClaims> claims_;
  std::unique_ptr<BundleApprovals> approvals_;  // nullptr: everybody runs everything
  validation::RebootDrains* drains_ = nullptr;  // nullptr: Muster drains no nodes
  std::vector<std::string> ordered_;            // of the boot server: "node image actor"
  absl::Status image_refusal_;
  std::map<std::string, std::string> orders_;  // of the boot server, by node: the order's id
  absl::Status take_back_refusal_;
  std::map<std::string, absl::Status> suite_errors_;    // by suite
  std::map<std::string, absl::Status> mandate_errors_;  // by actor
  std::vector<std::string> ended_;  // runs with suites at their end, as passed to on_ended()
  bool free_when_ended_ = false;    // whether no node was held at that time
  std::unique_ptr<RunEngine> engine_;
};

}  // namespace muster::controller
