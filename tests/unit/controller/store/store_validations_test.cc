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
using ::testing::SizeIs;

const absl::Time kValidationsNow = absl::FromUnixSeconds(1700000000);

class StoreValidations : public ::testing::Test {
 protected:
  StoreValidations() : store_(OpenStore(":memory:").value()) {}

  static ValidationRecord Sample(const std::string& id, absl::Time created) {
    ValidationRecord record;
    record.validation_id = id;
    record.suite = "acceptance";
    record.suite_digest = "d";
    record.request = std::string("\x0a\x00\xfe", 3);
    record.created_by = "admin:alice";
    record.created_at = created;
    record.inventory_revision = 4;
    record.pair_seed = "seed";
    return record;
  }
  static ValidationCheckRecord Check(const std::string& id, const std::string& validation) {
    ValidationCheckRecord check;
    check.check_id = id;
    check.validation_id = validation;
    check.execution_id = "e";
    check.node = "c001";
    check.members = "c001 c002";
    check.rank = 1;
    check.stage = 2;
    check.stage_check = 3;
    check.stage_name = "gpus";
    check.name = "gpu-gemm";
    check.phase = 1;
    check.parameters_digest = "p";
    return check;
  }

  std::unique_ptr<Store> store_;
};

TEST_F(StoreValidations, ComeBackWithTheirNodes) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(Sample("v-1", kValidationsNow)));
    RETURN_IF_ERROR(txn.validations().Put(Sample("v-2", kValidationsNow + absl::Seconds(1))));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c001", "u1", 0, "", "first"}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c001", "u1", 0, "", "found"}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c002", "u2", 0, "", "", true}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c002", "u2"}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-2", "c002", "u2"}));
    RETURN_IF_ERROR(txn.validations().PutNode({"v-1", "c001", "u1", 2, std::string("\x00v", 2)}));
    ValidationRecord done = Sample("v-1", kValidationsNow);
    done.state = ValidationRecord::kDone;
    done.finished_at = kValidationsNow + absl::Hours(1);
    done.blames = std::string("\x00b", 2);
    return txn.validations().Put(done);
  }));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const ValidationRecord one, txn.validations().Get("v-1"));
    EXPECT_EQ(one.state, ValidationRecord::kDone);
    EXPECT_EQ(one.request.size(), 3u);
    EXPECT_EQ(one.blames.size(), 2u);
    EXPECT_EQ(one.finished_at, kValidationsNow + absl::Hours(1));
    EXPECT_EQ(one.pair_seed, "seed");
    ASSIGN_OR_RETURN(const auto nodes, txn.validations().ListNodes("v-1"));
    EXPECT_THAT(nodes, SizeIs(2));
    EXPECT_EQ(nodes[0].node, "c001");
    EXPECT_EQ(nodes[0].verdict.size(), 2u);
    EXPECT_EQ(nodes[0].found, "found");  // none put with the verdict
    EXPECT_EQ(nodes[1].found, "");
    EXPECT_FALSE(nodes[0].is_witness);
    EXPECT_TRUE(nodes[1].is_witness) << "also when it is put again without";
    ASSIGN_OR_RETURN(const auto all, txn.validations().List(10, ""));
    EXPECT_THAT(all, SizeIs(2));
    EXPECT_EQ(all[0].validation_id, "v-2");
    EXPECT_THAT(txn.validations().List(1, "").value(), SizeIs(1));
    ASSIGN_OR_RETURN(const auto of_one, txn.validations().List(10, "c001"));
    EXPECT_THAT(of_one, SizeIs(1));
    EXPECT_EQ(of_one[0].validation_id, "v-1");
    EXPECT_THAT(txn.validations().List(10, "c009").value(), IsEmpty());
    ASSIGN_OR_RETURN(const auto running, txn.validations().ListRunning());
    EXPECT_THAT(running, SizeIs(1));
    EXPECT_THAT(txn.validations().Get("v-9"), StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST_F(StoreValidations, AResultKeepsItsVerdictWhenTheOutcomeChanges) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(Sample("v-1", kValidationsNow)));
    for (const char* id : {"v-1/a", "v-1/b"}) {
      ValidationCheckRecord check = Check(id, "v-1");
      check.outcome = 1;
      RETURN_IF_ERROR(txn.validation_checks().Put(check));
    }
    RETURN_IF_ERROR(txn.validation_checks().PutResult(
        {"v-1/a", kValidationsNow, "result", std::string("\x00v", 2)}));
    return txn.validation_checks().SetOutcome("v-1/a", 2);
  }));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const CheckResultRecord result, txn.validation_checks().GetResult("v-1/a"));
    EXPECT_EQ(result.verdict, std::string("\x00v", 2));
    ASSIGN_OR_RETURN(const auto checks, txn.validation_checks().List("v-1"));
    EXPECT_EQ(checks[0].outcome, 2);
    EXPECT_EQ(checks[1].outcome, 1);
    return absl::OkStatus();
  }));
}

TEST_F(StoreValidations, ResultsAreKeptApartAndTheFirstCounts) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(txn.validations().Put(Sample("v-1", kValidationsNow)));
    RETURN_IF_ERROR(txn.validation_checks().Put(Check("v-1/a", "v-1")));
    RETURN_IF_ERROR(
        txn.validation_checks().PutResult({"v-1/a", kValidationsNow, std::string("\x00r", 2)}));
    RETURN_IF_ERROR(txn.validation_checks().PutResult({"v-1/a", kValidationsNow, "other"}));
    ValidationCheckRecord ended = Check("v-1/a", "v-1");
    ended.phase = 2;
    ended.outcome = 1;
    ended.put_back = true;
    ended.started_at = kValidationsNow;
    ended.parameters_digest = "q";
    return txn.validation_checks().Put(ended);
  }));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto checks, txn.validation_checks().List("v-1"));
    EXPECT_THAT(checks, SizeIs(1));
    EXPECT_EQ(checks[0].phase, 2);
    EXPECT_EQ(checks[0].members, "c001 c002");
    EXPECT_EQ(checks[0].stage_check, 3u);
    EXPECT_EQ(checks[0].stage_name, "gpus");
    EXPECT_TRUE(checks[0].put_back);
    EXPECT_EQ(checks[0].started_at, kValidationsNow);
    EXPECT_EQ(checks[0].parameters_digest, "q");
    EXPECT_EQ(txn.validation_checks().GetResult("v-1/a")->result, std::string("\x00r", 2));
    EXPECT_THAT(txn.validation_checks().GetResult("v-1/b"),
                StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

TEST_F(StoreValidations, HistoryLeavesOutTheValidationItselfWhatFailedAndOtherParameters) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    for (int i = 1; i <= 5; ++i) {
      const std::string id = "v-" + std::to_string(i);
      RETURN_IF_ERROR(txn.validations().Put(Sample(id, kValidationsNow)));
      ValidationCheckRecord check = Check(id + "/a", id);
      check.outcome = i == 4 ? 2 : 1;
      check.parameters_digest = i == 5 ? "other" : "p";
      RETURN_IF_ERROR(txn.validation_checks().Put(check));
      RETURN_IF_ERROR(
          txn.validation_checks().PutResult({id + "/a", kValidationsNow + absl::Seconds(i), id}));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto history,
                     txn.validation_checks().History({"c001", "gpu-gemm", "p", "v-3", 10}));
    EXPECT_THAT(history, SizeIs(2));
    EXPECT_EQ(history[0].result, "v-2");
    EXPECT_THAT(txn.validation_checks().History({"c001", "disk", "p", "", 10}).value(), IsEmpty());
    CheckHistoryQuery oldest = {"c001", "gpu-gemm", "p", "v-3", 1, 0, true};
    EXPECT_EQ(txn.validation_checks().History(oldest).value().at(0).result, "v-1");
    oldest.skip = 1;
    EXPECT_EQ(txn.validation_checks().History(oldest).value().at(0).result, "v-2");
    EXPECT_EQ(txn.validation_checks().RemoveResults(kValidationsNow + absl::Seconds(2), 10).value(),
              1u);
    EXPECT_THAT(txn.validation_checks().History({"c001", "gpu-gemm", "p", "", 10}).value(),
                SizeIs(2));
    return absl::OkStatus();
  }));
}

TEST_F(StoreValidations, TheHistoryOfANameEndsWhereAnotherMachineHadIt) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    const char* const kMachines[] = {"old", "old", "new", "new"};
    for (int i = 0; i < 4; ++i) {
      const std::string id = absl::StrCat("v-", i + 1);
      RETURN_IF_ERROR(txn.validations().Put(Sample(id, kValidationsNow)));
      RETURN_IF_ERROR(txn.validations().PutNode({id, "c001", kMachines[i], 0, "", ""}));
      ValidationCheckRecord check = Check(id + "/a", id);
      check.outcome = 1;
      RETURN_IF_ERROR(txn.validation_checks().Put(check));
      RETURN_IF_ERROR(
          txn.validation_checks().PutResult({id + "/a", kValidationsNow + absl::Seconds(i), id}));
    }
    return absl::OkStatus();
  }));
  ASSERT_OK(store_->View([](Transaction& txn) -> absl::Status {
    const auto earlier = [&](const char* validation, bool oldest_first) {
      std::vector<std::string> ids;
      const auto history = txn.validation_checks().History(
          {"c001", "gpu-gemm", "p", validation, 10, 0, oldest_first});
      for (const CheckResultRecord& record : *history) ids.push_back(record.result);
      return ids;
    };
    EXPECT_THAT(earlier("v-4", false), ElementsAre("v-3"));
    EXPECT_THAT(earlier("v-4", true), ElementsAre("v-3"));
    EXPECT_THAT(earlier("v-3", false), ElementsAre("v-4"));
    EXPECT_THAT(earlier("v-2", false), ElementsAre("v-1"));
    return absl::OkStatus();
  }));
}

TEST_F(StoreValidations, APassIsTheNodesAndGoesWithIt) {
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    NodeRecord node;
    node.uuid = "u1";
    node.name = "c001";
    node.state = NodeRecord::kEnrolled;
    RETURN_IF_ERROR(txn.nodes().Put(node));
    NodePassRecord pass = {"u1",          "v-1",   "quick",    "d",
                           "GPU-1 GPU-2", "550.1", "6.1.0-28", kValidationsNow};
    RETURN_IF_ERROR(txn.node_service().PutPass(pass));
    pass.validation_id = "v-2";
    RETURN_IF_ERROR(txn.node_service().PutPass(pass));
    RETURN_IF_ERROR(txn.node_service().PutService({"u1", 3, "v-0", kValidationsNow}));
    return txn.node_service().PutService({"u1", 4, "", kValidationsNow});
  }));
  ASSERT_OK(store_->Update([](Transaction& txn) -> absl::Status {
    EXPECT_EQ(txn.node_service().GetPass("u1")->validation_id, "v-2");
    EXPECT_EQ(txn.node_service().GetPass("u1")->gpu_uuids, "GPU-1 GPU-2");
    ASSIGN_OR_RETURN(const auto services, txn.node_service().ListServices());
    EXPECT_THAT(services, SizeIs(1));
    EXPECT_EQ(services[0].state, 4);
    RETURN_IF_ERROR(txn.node_service().RemovePass("u1"));
    EXPECT_THAT(txn.node_service().GetPass("u1"), StatusIs(absl::StatusCode::kNotFound, Said()));
    return absl::OkStatus();
  }));
}

}  // namespace
}  // namespace muster::controller
