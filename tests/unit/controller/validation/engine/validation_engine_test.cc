#include "controller/validation/engine/validation_engine.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/checks/power_samples.h"
#include "controller/store/tables.h"
#include "controller/validation/verdict/result_blob.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"
#include "tests/unit/controller/validation/validation_engine_fixture.h"

namespace muster::controller::validation {
namespace {

using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// The worker gets the lowest of the limits of the room, the model's file and the suite.
TEST_F(ValidationEngineTest, ChecksOfGpusAreToldHowHotTheyMayBecome) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory(
          {{"cluster.yaml",
            "cluster: test\n"
            "nodes:\n"
            "  c001: {role: compute, address: 10.0.0.1,\n"
            "         vars: {gpu_model: Tesla T4, gpu_temperature_limit_celsius: 83}}\n"
            "  c002: {role: compute, address: 10.0.0.2, vars: {gpu_model: Tesla T4}}\n"}})
          .value());
  site_["inventory/hardware/t4.yaml"] =
      "kind: gpu\nmatch: [Tesla T4]\nmax_temperature_celsius: {value: 88, source: s}\n";
  ASSERT_OK(Create("probe").status());
  EXPECT_EQ(Only("u-c001").start_check().parameters().at("max-temperature"), "83");
  EXPECT_EQ(Only("u-c002").start_check().parameters().at("max-temperature"), "88");
}

// A GPU that is used by somebody else is left alone, and named, unless the caller forced it.
TEST_F(ValidationEngineTest, BusyGpuIsUnknownUnlessForced) {
  const std::string busy = "GPU 1 is used by python3 (4711)";
  const std::string id = Create("probe", "c001").value();
  const v1::StartCheck start = Only("u-c001").start_check();
  EXPECT_FALSE(start.force());
  Report("u-c001", start.check_id(), v1::OUTCOME_UNKNOWN, busy);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_UNKNOWN);
  EXPECT_THAT(engine_->Get(id)->nodes(0).checks(0).reason(), AllOf(Said(), HasSubstr(busy)));
  EXPECT_OK(store_->View([](Transaction& txn) -> absl::Status {
    EXPECT_FALSE(txn.node_service().GetPass("u-c001").ok());
    return absl::OkStatus();
  }));

  sessions_.Take("u-c001");  // its report is stored
  const std::string forced = Create("probe", "c001", /*force=*/true).value();
  const v1::StartCheck again = Only("u-c001").start_check();
  EXPECT_TRUE(again.force());
  Report("u-c001", again.check_id(), v1::OUTCOME_PASS, "", 1);
  EXPECT_EQ(OutcomeOfNode(forced, "c001"), v1::OUTCOME_PASS);
}

// Not like a node without GPUs, whose GPU checks are skipped.
TEST_F(ValidationEngineTest, ACardWithoutADriverKeepsTheNodeOut) {
  ASSERT_OK(store_->Update([](Transaction& txn) {
    v1::Facts facts;
    v1::PciDeviceFacts& card = *facts.add_pci_devices();
    card.set_vendor_id("10de");
    card.set_class_code("030200");
    return txn.nodes().PutFacts("u-c001", facts.SerializeAsString());
  }));
  site_["playbooks/suites/look.yaml"] =
      "name: look\ndescription: d\nadmits: true\nstages:\n"
      "  - {name: first, checks: [{check: gpu-inventory, when: gpus, time_limit: 60s}]}\n";
  ASSERT_OK(Create("look", "c001").status());
  const v1::ControllerMessage start = Only("u-c001");
  ASSERT_EQ(start.start_check().check(), "gpu-inventory");
  Report("u-c001", start.start_check().check_id(), v1::OUTCOME_UNKNOWN, "no working driver");
  EXPECT_EQ(gate_.judged["u-c001"], v1::OUTCOME_UNKNOWN);
  sessions_.Take("u-c001");  // that its report is stored
  // Of cards that nobody is to use nothing is asked.
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml", absl::StrCat(kInventory, "vars: {gpu_count: 0}\n")}})
          .value());
  EXPECT_OK(Create("look", "c001").status());
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
}

// A repaired node would never come back into a rack that does not feed all of its nodes at once.
TEST_F(ValidationEngineTest, NodeIsTestedBesideOthersThatFillItsRack) {
  PutIntoRack(1000);
  ASSERT_OK(Create("burn", "c001").status());
  EXPECT_EQ(Only("u-c001").start_check().check(), "burn");
}

// Together they may draw more than it carries, as those of a rollout, one for each node.
TEST_F(ValidationEngineTest, ValidationsInARackThatOthersFillTakeTurns) {
  PutIntoRack(1000);
  const std::string first = Create("burn", "c001").value();
  const std::string second = Create("burn", "c002").value();
  v1::CheckReport report;
  report.set_check_id(Only("u-c001").start_check().check_id());
  clock_.Advance(absl::Seconds(6));
  engine_->Tick();
  EXPECT_THAT(sessions_.Take("u-c002"), IsEmpty());
  EXPECT_FALSE(engine_->Get(second)->has_finished_at()) << "it waits";
  report.mutable_result()->set_check("burn");
  report.mutable_result()->set_outcome(v1::OUTCOME_PASS);
  engine_->OnReport("u-c001", report);
  SettleWithFacts();
  engine_->Tick();
  EXPECT_EQ(Only("u-c002").start_check().check(), "burn");
  EXPECT_TRUE(engine_->Get(first)->has_finished_at());
}

TEST_F(ValidationEngineTest, NodeThatDrawsMoreThanPredictedStopsTheNewestCheckOfItsRack) {
  PutIntoRack(1500);
  ASSERT_OK(Create("burn").status());
  const std::string older = Only("u-c001").start_check().check_id();
  EXPECT_THAT(sessions_.Take("u-c002"), IsEmpty());
  clock_.Advance(absl::Seconds(6));
  engine_->Tick();
  const std::string newer = Only("u-c002").start_check().check_id();

  engine_->OnUpdate("u-c001", Draws(older, checks::kPowerOfGpus, 60));  // at rest
  for (int i = 0; i < 2; ++i) engine_->OnUpdate("u-c001", Draws(older, checks::kPowerOfGpus, 700));
  engine_->Flush();
  EXPECT_THAT(sessions_.Take("u-c002"), IsEmpty());                         // 250 - 60 + 700 + 600
  engine_->OnUpdate("u-c001", Draws(older, checks::kPowerOfNode, 65'000));  // a wrong reading
  engine_->OnUpdate("u-c001", Draws(older, checks::kPowerOfNode, 901));
  engine_->Flush();
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  const v1::StopCheck stop = Only("u-c002").stop_check();
  EXPECT_EQ(stop.check_id(), newer);
  EXPECT_THAT(stop.reason(), Said());
}

TEST_F(ValidationEngineTest, SuiteMayAllowLessHeatButNotMore) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml",
                       "cluster: test\n"
                       "nodes:\n"
                       "  c001: {role: compute, address: 10.0.0.1,\n"
                       "         vars: {gpu_temperature_limit_celsius: 83}}\n"
                       "  c002: {role: compute, address: 10.0.0.2,\n"
                       "         vars: {gpu_temperature_limit_celsius: 70}}\n"}})
          .value());
  site_["playbooks/suites/probe.yaml"] =
      "name: probe\ndescription: d\nstages:\n"
      "  - {name: first, checks: [{check: probe, with: {max-temperature: 75}}]}\n";
  ASSERT_OK(Create("probe").status());
  EXPECT_EQ(Only("u-c001").start_check().parameters().at("max-temperature"), "75");
  EXPECT_EQ(Only("u-c002").start_check().parameters().at("max-temperature"), "70");
}

TEST_F(ValidationEngineTest, TakesNodesThroughTheSuiteAndRemembersWhatPassed) {
  const std::string id = Create("probe").value();
  const v1::StartCheck one = Only("u-c001").start_check();
  const v1::StartCheck two = Only("u-c002").start_check();
  EXPECT_EQ(one.check(), "probe");
  EXPECT_THAT(one.parameters(), IsEmpty());  // no temperature limit is known
  EXPECT_EQ(one.time_limit().seconds(), 60);
  EXPECT_TRUE(one.has_expires_at());
  EXPECT_NE(one.check_id(), two.check_id());
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);

  Report("u-c001", one.check_id(), v1::OUTCOME_PASS);
  EXPECT_EQ(Only("u-c001").check_report_stored().check_id(), one.check_id());
  Report("u-c002", two.check_id(), v1::OUTCOME_FAIL, "bits");
  EXPECT_EQ(Only("u-c002").check_report_stored().check_id(), two.check_id());

  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOfNode(id, "c002"), v1::OUTCOME_FAIL);
  EXPECT_EQ(done.nodes(1).checks(0).reason(), "bits");
  EXPECT_EQ(done.nodes(1).checks(0).stage(), "first");
  EXPECT_EQ(gate_.judged["u-c001"], v1::OUTCOME_PASS);
  EXPECT_EQ(gate_.judged["u-c002"], v1::OUTCOME_FAIL);
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodePassRecord pass, txn.node_service().GetPass("u-c001"));
    EXPECT_EQ(pass.validation_id, id);
    EXPECT_EQ(pass.gpu_uuids, "GPU-1 GPU-2");
    EXPECT_EQ(pass.driver_version, "550.1");
    EXPECT_EQ(pass.kernel, "6.1.0");
    EXPECT_EQ(pass.suite_digest, done.suite_digest());
    EXPECT_TRUE(absl::IsNotFound(txn.node_service().GetPass("u-c002").status()));
    ASSIGN_OR_RETURN(const auto result, txn.validation_checks().GetResult(two.check_id()));
    EXPECT_EQ(UnpackResult(result.result)->reason(), "bits");
    return absl::OkStatus();
  }));
  EXPECT_THAT(Audit(), ::testing::ElementsAre("validation.finish controller",
                                              "validation.create operator:alice"));
}

// The present hardware is not what was tested: also after a restart of the controller.
TEST_F(ValidationEngineTest, ANodeThatChangedWhileItWasValidatedHasNotPassed) {
  for (const bool restarts : {false, true}) {
    const auto put = [&](const char* gpu, const char* driver) {
      ASSERT_OK(store_->Update([&](Transaction& txn) {
        v1::Facts facts;
        facts.mutable_os()->set_kernel("6.1.0");
        facts.set_nvidia_driver_version(driver);
        facts.add_gpus()->set_uuid("GPU-1");
        facts.add_gpus()->set_uuid(gpu);
        return txn.nodes().PutFacts("u-c001", facts.SerializeAsString());
      }));
    };
    put("GPU-2", "550.1");
    const std::string id = Create("probe", "c001").value();
    const std::string check = Only("u-c001").start_check().check_id();
    put("GPU-3", "555.2");
    if (restarts) {
      Open();
      v1::Hello hello;
      hello.add_check_ids(check);
      engine_->OnConnected("u-c001", hello);
    }
    Report("u-c001", check, v1::OUTCOME_PASS);
    sessions_.Take("u-c001");
    EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_UNKNOWN);
    const v1::Validation done = engine_->Get(id).value();
    ASSERT_THAT(done.nodes(0).checks(), SizeIs(2));
    EXPECT_THAT(done.nodes(0).checks(1).reason(), Said());
    ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      EXPECT_TRUE(absl::IsNotFound(txn.node_service().GetPass("u-c001").status()));
      return absl::OkStatus();
    }));
  }
}

TEST_F(ValidationEngineTest, TellsTheWorkerWhatTheInventoryExpects) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml",
                       "cluster: test\n"
                       "nodes:\n"
                       "  c001: {role: compute, vars: {gpu_nvlinks: 6}}\n"
                       "  c002: {role: compute}\n"
                       "vars: {gpu_count: 4}\n"}})
          .value());
  site_["playbooks/suites/look.yaml"] =
      "name: look\ndescription: d\nstages:\n"
      "  - {name: all, checks: [{check: gpu-inventory, with: {count: 3}}]}\n";
  ASSERT_OK(Create("look"));
  EXPECT_THAT(Only("u-c001").start_check().parameters(),
              UnorderedElementsAre(Pair("count", "3"), Pair("nvlinks", "6")));
  EXPECT_THAT(Only("u-c002").start_check().parameters(), ElementsAre(Pair("count", "3")));
}

TEST_F(ValidationEngineTest, AFailTakesAnEarlierPassAway) {
  for (const v1::Outcome outcome : {v1::OUTCOME_PASS, v1::OUTCOME_FAIL}) {
    ASSERT_OK(Create("probe", "c001"));
    Report("u-c001", Only("u-c001").start_check().check_id(), outcome, "r");
    sessions_.Take("u-c001");
  }
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    EXPECT_TRUE(absl::IsNotFound(txn.node_service().GetPass("u-c001").status()));
    return absl::OkStatus();
  }));
}

TEST_F(ValidationEngineTest, WhatIsUnknownLeavesAnEarlierPassAlone) {
  std::vector<std::string> ids;
  for (const v1::Outcome outcome : {v1::OUTCOME_PASS, v1::OUTCOME_UNKNOWN}) {
    ids.push_back(Create("probe", "c001").value());
    Report("u-c001", Only("u-c001").start_check().check_id(), outcome, "r");
    sessions_.Take("u-c001");
    EXPECT_EQ(OutcomeOfNode(ids.back(), "c001"), outcome);
  }
  ASSERT_OK(store_->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const NodePassRecord pass, txn.node_service().GetPass("u-c001"));
    EXPECT_EQ(pass.validation_id, ids[0]);
    return absl::OkStatus();
  }));
}

TEST_F(ValidationEngineTest, APassOfASuiteThatDoesNotAdmitLetsNobodyIn) {
  std::string& suite = site_["playbooks/suites/probe.yaml"];
  const std::string admitting = suite;
  const std::string looking = absl::StrReplaceAll(suite, {{"admits: true\n", ""}});
  const auto pass_of = [&]() -> std::string {
    std::string id;
    EXPECT_OK(store_->View([&](Transaction& txn) -> absl::Status {
      const auto pass = txn.node_service().GetPass("u-c001");
      if (pass.ok()) id = pass->validation_id;
      return absl::OkStatus();
    }));
    return id;
  };
  const auto validate = [&](const std::string& text, v1::Outcome outcome) {
    suite = text;
    const std::string id = Create("probe", "c001").value();
    Report("u-c001", Only("u-c001").start_check().check_id(), outcome, "r");
    sessions_.Take("u-c001");
    return id;
  };
  validate(looking, v1::OUTCOME_PASS);
  EXPECT_EQ(pass_of(), "");
  const std::string admitted = validate(admitting, v1::OUTCOME_PASS);
  EXPECT_EQ(pass_of(), admitted);
  validate(looking, v1::OUTCOME_PASS);
  EXPECT_EQ(pass_of(), admitted);
  validate(looking, v1::OUTCOME_FAIL);
  EXPECT_EQ(pass_of(), "");
}

TEST_F(ValidationEngineTest, GoesOnAfterARestart) {
  const std::string id = Create("probe").value();
  const std::string one = Only("u-c001").start_check().check_id();
  const std::string two = Only("u-c002").start_check().check_id();
  Report("u-c001", one, v1::OUTCOME_PASS);
  sessions_.Take("u-c001");

  Open();
  v1::Hello hello;
  hello.add_check_ids(two);
  engine_->OnConnected("u-c001", v1::Hello());
  engine_->OnConnected("u-c002", hello);
  engine_->Flush();
  // One has ended, the other is still running: nothing is started again.
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  EXPECT_THAT(sessions_.Take("u-c002"), IsEmpty());
  EXPECT_THAT(engine_->Get(id)->nodes(0).checks(), SizeIs(1));
  EXPECT_THAT(Create("probe", "c002"),
              StatusIs(absl::StatusCode::kFailedPrecondition, AllOf(Said(), HasSubstr(id))));
  Report("u-c002", two, v1::OUTCOME_PASS);
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOfNode(id, "c002"), v1::OUTCOME_PASS);
}

TEST_F(ValidationEngineTest, ARestartWithoutItsSuiteEndsTheValidation) {
  const std::string id = Create("probe").value();
  site_["playbooks/suites/probe.yaml"] += "# changed\n";
  Open();
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_CANCELLED);
  EXPECT_OK(Create("link"));  // its nodes are free again
}

TEST_F(ValidationEngineTest, BringsTheSidesOfAPairTogether) {
  const std::string id = Create("link").value();
  const v1::StartCheck one = Only("u-c001").start_check();
  const v1::StartCheck two = Only("u-c002").start_check();
  EXPECT_EQ(one.ranks(), 2u);
  EXPECT_NE(one.rank(), two.rank());
  EXPECT_EQ(one.pair_key(), two.pair_key());
  EXPECT_THAT(one.pair_key(), SizeIs(64));
  v1::CheckUpdate update;
  update.set_check_id(one.check_id());
  update.mutable_progress()->mutable_listening()->set_port(4711);
  engine_->OnUpdate("u-c001", update);
  engine_->Flush();
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  update.set_check_id(two.check_id());
  update.mutable_progress()->mutable_listening()->set_port(4712);
  update.mutable_progress()->mutable_listening()->set_address("192.168.0.2");
  engine_->OnUpdate("u-c001", update);  // another node's check: ignored
  engine_->Flush();
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  engine_->OnUpdate("u-c002", update);
  engine_->Flush();
  for (const char* uuid : {"u-c001", "u-c002"}) {
    const v1::ConnectPeers peers = Only(uuid).connect_peers();
    ASSERT_THAT(peers.peers(), SizeIs(2));
    EXPECT_EQ(peers.peers(one.rank()).port(), 4711u);
    EXPECT_EQ(peers.peers(one.rank()).address(), "10.0.0.1");
    EXPECT_EQ(peers.peers(two.rank()).address(), "192.168.0.2");
  }
  for (const auto& [uuid, check] : {std::pair("u-c001", one), std::pair("u-c002", two)}) {
    v1::CheckReport report;
    report.set_check_id(check.check_id());
    report.mutable_result()->set_check("link");
    report.mutable_result()->set_outcome(v1::OUTCOME_PASS);
    engine_->OnReport(uuid, report);
  }
  SettleWithFacts();
  const v1::Validation done = engine_->Get(id).value();
  EXPECT_EQ(done.state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(done.nodes(0).checks(0).partner(), "c002");
}

TEST_F(ValidationEngineTest, AFastNodeNeedNotBeFasterThanItsPartner) {
  inventory_ = std::make_shared<const Inventory>(
      ParseInventory({{"cluster.yaml",
                       "cluster: test\n"
                       "nodes:\n"
                       "  c001: {role: compute, vars: {network_gbits_per_s: 10}}\n"
                       "  c002: {role: compute, vars: {network_gbits_per_s: 1}}\n"}})
          .value());
  for (const auto& [rate, floor] : {std::pair("10", "8.9"), std::pair("1", "0.89")}) {
    site_[absl::StrCat("inventory/hardware/", rate, ".yaml")] =
        absl::StrCat("kind: nic\nmatch: [ethernet ", rate,
                     " Gbit/s]\nlimits:\n  - {check: link, metric: gbits, ",
                     "unit: Gbit/s, floor: ", floor, ", peak: ", rate, ", source: test}\n");
  }
  const std::string id = Create("link").value();
  for (const char* uuid : {"u-c001", "u-c002"}) {
    v1::CheckReport report;
    report.set_check_id(Only(uuid).start_check().check_id());
    v1::CheckResult& result = *report.mutable_result();
    result.set_check("link");
    result.set_outcome(v1::OUTCOME_PASS);
    result.add_subjects()->set_id("eth0");
    result.mutable_subjects(0)->set_kind("nic");
    v1::Metric& metric = *result.add_metrics();
    metric.set_name("gbits");
    metric.set_subject("eth0");
    metric.set_unit("Gbit/s");
    metric.set_value(0.94);
    engine_->OnReport(uuid, report);
  }
  SettleWithFacts();
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
  const v1::Validation done = engine_->Get(id).value();
  ASSERT_THAT(done.nodes(0).checks(0).findings(), SizeIs(1));
  EXPECT_EQ(done.nodes(0).checks(0).findings(0).floor(), 0.89);
}

TEST_F(ValidationEngineTest, CancelStopsWhatRuns) {
  const std::string id = Create("probe").value();
  const std::string one = Only("u-c001").start_check().check_id();
  const std::string two = Only("u-c002").start_check().check_id();
  ASSERT_OK(engine_->Cancel(id, {"operator:bob", ""}));
  EXPECT_THAT(Only("u-c001").stop_check().reason(), Said());
  Only("u-c002");
  Report("u-c001", one, v1::OUTCOME_UNKNOWN, "stopped by operator:bob");
  Report("u-c002", two, v1::OUTCOME_PASS);  // it was done before it heard
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_CANCELLED);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_UNKNOWN);
  EXPECT_NE(OutcomeOfNode(id, "c002"), v1::OUTCOME_PASS);
  EXPECT_THAT(engine_->Cancel(id, {"operator:bob", ""}),
              StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(ValidationEngineTest, ReportsThatNobodyWantsAreAcknowledgedAndChangeNothing) {
  const std::string id = Create("probe", "c001").value();
  const std::string one = Only("u-c001").start_check().check_id();
  Report("u-c002", one, v1::OUTCOME_PASS);  // from another node
  EXPECT_EQ(Only("u-c002").check_report_stored().check_id(), one);
  Report("u-c002", "v-gone/0.0.0.0/c002", v1::OUTCOME_PASS);
  EXPECT_EQ(Only("u-c002").check_report_stored().check_id(), "v-gone/0.0.0.0/c002");
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_RUNNING);
}

TEST_F(ValidationEngineTest, RefusesWhatCannotBeTested) {
  EXPECT_THAT(Create("prob"), StatusIs(absl::StatusCode::kNotFound, Said()));
  EXPECT_THAT(Create("probe", "c009"), StatusIs(absl::StatusCode::kInvalidArgument, Said()));
  ASSERT_OK(claims_->Claim({"r-1", "run r-1 works on", "wait", clock_.Now()}, {"c002"}));
  EXPECT_THAT(Create("probe"), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
  EXPECT_OK(Create("probe", "c001"));
}

TEST_F(ValidationEngineTest, ANodeThatNeverComesIsUnknown) {
  sessions_.Cut("u-c002");
  const std::string id = Create("probe").value();
  Report("u-c001", Only("u-c001").start_check().check_id(), v1::OUTCOME_PASS);
  for (int i = 0; i < 120; ++i) {
    clock_.Advance(absl::Seconds(1));
    engine_->Tick();
    SettleWithFacts();
  }
  EXPECT_EQ(engine_->Get(id)->state(), v1::VALIDATION_STATE_DONE);
  EXPECT_EQ(OutcomeOfNode(id, "c001"), v1::OUTCOME_PASS);
  EXPECT_EQ(OutcomeOfNode(id, "c002"), v1::OUTCOME_UNKNOWN);
}

TEST_F(ValidationEngineTest, WatchersSeeVerdictsAndTheEnd) {
  const std::string id = Create("probe", "c001").value();
  const std::shared_ptr<ValidationFeed> events = engine_->EventsOf(id).value();
  int woken = 0;
  const auto watch = events->WatchFromNow([&] { ++woken; });
  Report("u-c001", Only("u-c001").start_check().check_id(), v1::OUTCOME_PASS);
  EXPECT_GT(woken, 0);
  const auto verdict = watch->Next();
  ASSERT_NE(verdict, nullptr);
  EXPECT_EQ(verdict->verdict().outcome(), v1::OUTCOME_PASS);
  const auto end = watch->Next();
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(end->finished().validation_id(), id);
  EXPECT_EQ(watch->Next(), nullptr);
  EXPECT_TRUE(watch->AtEnd());
  // A late watcher sees the end.
  const auto late = engine_->EventsOf(id).value()->WatchFromNow([] {});
  ASSERT_NE(late->Next(), nullptr);
  EXPECT_TRUE(late->AtEnd());
}

TEST_F(ValidationEngineTest, WhatNoRunAsksForAnyMoreLeavesNothingBehind) {
  RunRecord run;
  run.run_id = "r-1";
  RunValidationRecord row = {"r-1", 0, "pass", "probe", RunValidationRecord::kNotStarted};
  ASSERT_OK(store_->Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.runs().Put(run));
    return txn.run_validations().Put(row);
  }));
  v1::CreateValidationRequest request;
  request.set_bundle_sha256("b");
  request.set_suite("probe");
  request.set_nodes("c001");
  {
    const ValidationCollaborators with = Collaborators();
    auto admission = Admission::Open(with, request, {"controller", ""});
    ASSERT_OK(admission.status());
    row.state = RunValidationRecord::kWaiting;  // as it was when it was looked at
    EXPECT_THAT(engine_->Begin(*admission, {"controller", ""}, &row),
                StatusIs(absl::StatusCode::kCancelled, Said()));
  }
  EXPECT_THAT(Audit(), IsEmpty());
  EXPECT_THAT(sessions_.Take("u-c001"), IsEmpty());
  EXPECT_OK(Create("probe", "c001").status()) << "the node is free again";
}

}  // namespace
}  // namespace muster::controller::validation
