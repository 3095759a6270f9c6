// An engine with a real store, fake agents and a catalogue of small checks.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/checks/power_samples.h"
#include "controller/claim/node_claims.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "controller/validation/engine/admission.h"
#include "controller/validation/engine/validation_engine.h"
#include "muster/v1/agent_session.pb.h"
#include "muster/v1/facts.pb.h"
#include "tests/fakes/fake_agent_sessions.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_job_gate.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::validation {

inline constexpr checks::MetricSpec kProbeMetrics[] = {
    {"rate", "GB/s", "", checks::Better::kHigher, "of the node"}};
inline constexpr checks::ParameterSpec kProbeParameters[] = {
    {.name = "max-temperature", .type = checks::ParameterType::kNumber},
    {.name = "duration",
     .type = checks::ParameterType::kDuration,
     .default_text = "8s",
     .help = "of the probe",
     .max = 86400}};
inline constexpr checks::CheckSpec kProbe = {.name = "probe",
                                             .scope = checks::Scope::kNode,
                                             .load = checks::Load::kIdle,
                                             .parameters = kProbeParameters,
                                             .metrics = kProbeMetrics};
inline constexpr checks::CheckSpec kBurn = {
    .name = "burn", .scope = checks::Scope::kNode, .load = checks::Load::kGpu};
inline constexpr checks::MetricSpec kLinkMetrics[] = {
    {"gbits", "Gbit/s", "nic", checks::Better::kHigher, "payload"},
    {"receive_gbits", "Gbit/s", "nic", checks::Better::kHigher, "payload from the partner"}};
inline constexpr checks::CheckSpec kLink = {.name = "link",
                                            .scope = checks::Scope::kPair,
                                            .load = checks::Load::kNetwork,
                                            .metrics = kLinkMetrics};
inline constexpr checks::ParameterSpec kLookParameters[] = {
    {.name = "count", .type = checks::ParameterType::kNumber, .default_text = "", .help = "GPUs"},
    {.name = "nvlinks", .type = checks::ParameterType::kNumber, .default_text = "", .help = "up"}};
inline constexpr checks::CheckSpec kLook = {.name = "gpu-inventory",
                                            .scope = checks::Scope::kNode,
                                            .load = checks::Load::kIdle,
                                            .parameters = kLookParameters};
inline constexpr checks::CheckSpec kRing = {
    .name = "ring", .scope = checks::Scope::kGroup, .load = checks::Load::kNetwork};
inline constexpr const checks::CheckSpec* kCatalog[] = {&kProbe, &kBurn, &kLink, &kLook, &kRing};

inline constexpr char kInventory[] =
    "cluster: test\n"
    "nodes:\n"
    "  c001: {role: compute, address: 10.0.0.1}\n"
    "  c002: {role: compute, address: 10.0.0.2}\n";

inline v1::CheckUpdate Draws(const std::string& check_id, const char* source, double watts) {
  v1::CheckUpdate update;
  update.set_check_id(check_id);
  v1::Sample& sample = *update.mutable_progress()->add_samples();
  sample.set_metric(checks::kPowerMetric);
  sample.set_variant(source);
  sample.set_value(watts);
  sample.set_at_s(30);
  return update;
}

// Two nodes with two GPUs each, and suites of one check.
class ValidationEngineTest : public ::testing::Test {
 protected:
  ValidationEngineTest() : store_(OpenStore(":memory:").value()) {
    inventory_ =
        std::make_shared<const Inventory>(ParseInventory({{"cluster.yaml", kInventory}}).value());
    site_["playbooks/suites/probe.yaml"] =
        "name: probe\ndescription: d\nadmits: true\nstages:\n"
        "  - {name: first, checks: [{check: probe, time_limit: 60s}]}\n";
    site_["playbooks/suites/link.yaml"] =
        "name: link\ndescription: d\nstages:\n"
        "  - {name: net, checks: [{check: link, time_limit: 60s}]}\n";
    EXPECT_OK(store_->Update([](Transaction& txn) -> absl::Status {
      for (const char* name : {"c001", "c002"}) {
        NodeRecord node;
        node.uuid = std::string("u-") + name;
        node.name = name;
        node.state = NodeRecord::kConfigured;
        RETURN_IF_ERROR(txn.nodes().Put(node));
        v1::Facts facts;
        facts.mutable_os()->set_kernel("6.1.0");
        facts.set_nvidia_driver_version("550.1");
        facts.add_gpus()->set_uuid("GPU-2");
        facts.add_gpus()->set_uuid("GPU-1");
        RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, facts.SerializeAsString()));
      }
      return absl::OkStatus();
    }));
    sessions_.Connect("u-c001");
    sessions_.Connect("u-c002");
    Open();
  }

  ValidationCollaborators Collaborators() {
    return {
        *store_,
        sessions_,
        clock_,
        *claims_,
        gate_,
        kCatalog,
        [this]() -> absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> {
          return std::make_pair(uint64_t{1}, inventory_);
        },
        [this](uint64_t) -> absl::StatusOr<std::shared_ptr<const Inventory>> { return inventory_; },
        [this](const std::string&) -> absl::StatusOr<std::map<std::string, std::string>> {
          return site_;
        }};
  }

  void Open() {
    claims_ = std::make_unique<NodeClaims>();
    engine_ = std::make_unique<ValidationEngine>(Collaborators());
    ASSERT_OK(engine_->Resume());
  }

  absl::StatusOr<std::string> Create(const std::string& suite, const std::string& nodes = "all",
                                     bool force = false) {
    v1::CreateValidationRequest request;
    request.set_bundle_sha256("b");
    request.set_suite(suite);
    request.set_nodes(nodes);
    request.set_force(force);
    const Actor alice = {"operator:alice", "peer"};
    const ValidationCollaborators with = Collaborators();
    ASSIGN_OR_RETURN(Admission admission, Admission::Open(with, request, alice));
    ASSIGN_OR_RETURN(const v1::Validation validation, engine_->Begin(admission, alice));
    SettleWithFacts();
    return validation.validation_id();
  }
  // Puts both nodes, which draw 600 W at work, in one rack; adds the suite burn.
  void PutIntoRack(int limit_watts) {
    inventory_ = std::make_shared<const Inventory>(
        ParseInventory({{"cluster.yaml",
                         absl::StrCat(kInventory, "racks:\n  r1: {power_limit_watts: ", limit_watts,
                                      ", nodes: 'c[001-002]'}\n")}})
            .value());
    site_["playbooks/suites/burn.yaml"] =
        "name: burn\ndescription: d\nstages:\n  - {name: first, checks: [burn]}\n";
  }
  // The only message that was sent to the node; fails the test otherwise.
  v1::ControllerMessage Only(const std::string& uuid) {
    std::vector<v1::ControllerMessage> messages = sessions_.Take(uuid);
    EXPECT_EQ(messages.size(), 1u) << uuid;
    return messages.empty() ? v1::ControllerMessage() : messages[0];
  }
  // Reports a result for the suite probe, with a rate if there is one.
  void Report(const std::string& uuid, const std::string& check_id, v1::Outcome outcome,
              const std::string& reason = "", std::optional<double> rate = std::nullopt) {
    v1::CheckReport report;
    report.set_check_id(check_id);
    report.mutable_result()->set_check("probe");
    report.mutable_result()->set_outcome(outcome);
    report.mutable_result()->set_reason(reason);
    if (rate.has_value()) {
      v1::Metric& metric = *report.mutable_result()->add_metrics();
      metric.set_name("rate");
      metric.set_unit("GB/s");
      metric.set_value(*rate);
    }
    engine_->OnReport(uuid, report);
    SettleWithFacts();
  }
  // All connected nodes report at once the same facts that the store has.
  void SettleWithFacts() {
    engine_->Flush();
    if (!answers_facts_) return;
    for (const controller::AgentSessionInfo& node : sessions_.List()) {
      for (const std::string& id : sessions_.TakeFactsRequests(node.node_uuid)) {
        engine_->OnFactsStored(node.node_uuid, ParseFactsRequest(id).value());
      }
    }
    engine_->Flush();
  }
  v1::Outcome OutcomeOfNode(const std::string& id, const std::string& name) {
    const v1::Validation validation = engine_->Get(id).value();
    for (const v1::NodeVerdict& node : validation.nodes()) {
      if (node.node() == name) return node.outcome();
    }
    return v1::OUTCOME_UNSPECIFIED;
  }
  std::vector<std::string> Audit() {
    std::vector<std::string> actions;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const auto events, txn.events().List(100, 0));
      for (const EventRecord& event : events) actions.push_back(event.action + " " + event.actor);
      return absl::OkStatus();
    }));
    return actions;
  }

  std::unique_ptr<Store> store_;
  muster::testing::FakeAgentSessions sessions_;
  muster::testing::FakeJobGate gate_;
  muster::testing::FakeClock clock_;
  std::shared_ptr<const Inventory> inventory_;
  std::map<std::string, std::string> site_;
  std::unique_ptr<NodeClaims> claims_;
  std::unique_ptr<ValidationEngine> engine_;
  bool answers_facts_ = true;
};

}  // namespace muster::controller::validation
