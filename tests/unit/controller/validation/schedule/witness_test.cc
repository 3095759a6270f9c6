// The partner of a node that is validated alone, and the result without any partner.
#include "controller/validation/schedule/witness.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/controller/validation/validation_state_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr checks::CheckSpec kRdma = {"rdma", checks::Scope::kPair, checks::Load::kIdle, {}, {}, ""};

// Checks each node, then the links between them; RDMA if there is any.
Suite TestSuite() {
  Suite suite;
  suite.name = "s";
  suite.admits = true;
  SuiteStage look, net;
  look.name = "look";
  look.stop_on_fail = true;
  look.checks = {Check(kPlainLook)};
  net.name = "net";
  net.checks = {Check(kPlainTcp), Check(kRdma, {Condition::kRdma}), Check(kPlainRing)};
  suite.stages = {look, net};
  return suite;
}

ValidationNode TestedNode(const std::string& name, const std::string& rack = "r1",
                          const std::string& switch_name = "s1", bool rdma = false) {
  ValidationNode node;
  node.name = name;
  node.uuid = absl::StrCat("u", name);
  node.rack = rack;
  node.switch_name = switch_name;
  node.traits.rdma = rdma;
  return node;
}

std::vector<std::string> Names(const std::vector<ValidationNode>& nodes) {
  std::vector<std::string> names;
  for (const ValidationNode& node : nodes) names.push_back(node.name);
  return names;
}

TEST(FindWitnesses, TheNearestThatCanTakePartInMost) {
  Suite suite = TestSuite();
  const std::vector<ValidationNode> others = {TestedNode("far", "r9", "s9"),
                                              TestedNode("switch", "r2"), TestedNode("rack"),
                                              TestedNode("far_rdma", "r9", "s9", /*rdma=*/true)};
  EXPECT_THAT(Names(FindWitnesses({TestedNode("a")}, others, suite)),
              ElementsAre("rack", "switch", "far", "far_rdma"));
  suite = TestSuite();
  EXPECT_THAT(Names(FindWitnesses({TestedNode("a", "r1", "s1", true)}, others, suite)),
              ElementsAre("far_rdma", "rack", "switch", "far"));
  for (const SuiteCheck& check : suite.stages[1].checks) EXPECT_TRUE(check.has_others);
  EXPECT_FALSE(suite.stages[0].checks[0].has_others);
}

TEST(FindWitnesses, NobodyIsNeededWhereTwoCanTakePart) {
  Suite suite = TestSuite();
  EXPECT_FALSE(IsAnyAlone({TestedNode("a"), TestedNode("b")}, suite));
  EXPECT_THAT(FindWitnesses({TestedNode("a"), TestedNode("b")}, {TestedNode("c")}, suite),
              IsEmpty());
  // One of the two has RDMA: for that it is alone.
  const std::vector<ValidationNode> tested = {TestedNode("a", "r1", "s1", true), TestedNode("b")};
  EXPECT_TRUE(IsAnyAlone(tested, suite));
  EXPECT_THAT(
      Names(FindWitnesses(tested, {TestedNode("c"), TestedNode("d", "r9", "s9", true)}, suite)),
      ElementsAre("d"));
  EXPECT_FALSE(suite.stages[1].checks[0].has_others);
}

TEST(FindWitnesses, WhoIsNotEnrolledIsNoWitnessButCouldBeAPartnerOneDay) {
  Suite suite = TestSuite();
  ValidationNode absent = TestedNode("b");
  absent.uuid.clear();
  EXPECT_THAT(FindWitnesses({TestedNode("a")}, {absent}, suite), IsEmpty());
  EXPECT_TRUE(suite.stages[1].checks[0].has_others);
  EXPECT_FALSE(suite.stages[1].checks[1].has_others) << "none of them has RDMA";
  // A node that is not enrolled cannot be the partner of the one under test either.
  EXPECT_TRUE(IsAnyAlone({TestedNode("a"), absent}, suite));
}

class WitnessStateTest : public ::testing::Test {
 protected:
  void Begin(Suite suite, std::vector<ValidationNode> nodes) {
    verdicts_.clear();
    state_ = std::make_unique<ValidationState>("v", std::move(suite), std::move(nodes), 0,
                                               std::vector<RackPower>(), Stored());
    std::set<std::string> connected;
    for (const ValidationNode& node : state_->nodes()) connected.insert(node.uuid);
    Note(state_->Begin(connected, now_));
  }
  void Note(const ValidationActions& actions) {
    for (const ValidationAction& action : actions) {
      if (action.kind != ValidationAction::kVerdict) continue;
      const CheckPart& part = *state_->Find(action.check_id);
      verdicts_[absl::StrCat(part.node, " ", state_->CheckOf(part).spec->name)] =
          absl::StrCat(kOutcomes[static_cast<int>(part.outcome)], " ", part.reason);
    }
    for (const CheckPart* part : state_->TakeChanged()) stored_[part->check_id] = *part;
  }
  // "CHECK NODE" of the running checks.
  std::vector<std::string> Running() {
    std::vector<std::string> words;
    for (const CheckPart* part : state_->Running()) {
      words.push_back(absl::StrCat(state_->CheckOf(*part).spec->name, " ", part->node));
    }
    std::sort(words.begin(), words.end());
    return words;
  }
  // Ends the running checks.
  void Report(PartOutcome outcome) {
    std::vector<std::string> ids;
    for (const CheckPart* part : state_->Running()) ids.push_back(part->check_id);
    for (const std::string& id : ids) Note(state_->OnReport(id, outcome, now_));
  }
  std::vector<CheckPart> Stored() const {
    std::vector<CheckPart> parts;
    for (const auto& [id, part] : stored_) parts.push_back(part);
    return parts;
  }
  static ValidationNode Witness(const std::string& name, bool rdma = false) {
    ValidationNode node = TestedNode(name, "r1", "s1", rdma);
    node.is_witness = true;
    return node;
  }

  static constexpr const char* kOutcomes[] = {"none", "pass", "fail", "unknown", "skipped"};
  absl::Time now_ = absl::FromUnixSeconds(1700000000);
  std::unique_ptr<ValidationState> state_;
  std::map<std::string, std::string> verdicts_;
  std::map<std::string, CheckPart> stored_;
};

TEST_F(WitnessStateTest, TakesPartInWhatIsBetweenNodesAlone) {
  Begin(TestSuite(), {TestedNode("a"), Witness("w", /*rdma=*/true)});
  EXPECT_THAT(Running(), ElementsAre("look a"));
  Report(PartOutcome::kPass);
  EXPECT_THAT(Running(), ElementsAre("tcp a", "tcp w"));
  // A restarted controller asks for the same.
  Begin(TestSuite(), {TestedNode("a"), Witness("w", true)});
  EXPECT_THAT(Running(), ElementsAre("tcp a", "tcp w"));
  Report(PartOutcome::kPass);
  EXPECT_THAT(Running(), ElementsAre("ring a", "ring w"));
  Report(PartOutcome::kPass);
  EXPECT_TRUE(state_->finished());
  EXPECT_EQ(verdicts_.count("w look"), 0u);
  EXPECT_EQ(verdicts_.count("w rdma"), 0u) << "a has none, so nothing is to be said of it";
  EXPECT_THAT(verdicts_["a rdma"], HasSubstr("skipped"));
}

TEST_F(WitnessStateTest, IsOnlyAskedWhereANodeIsAlone) {
  Begin(TestSuite(), {TestedNode("a", "r1", "s1", true), TestedNode("b"), Witness("w", true)});
  Report(PartOutcome::kPass);
  EXPECT_THAT(Running(), ElementsAre("tcp a", "tcp b"));
  Report(PartOutcome::kPass);
  EXPECT_THAT(Running(), ElementsAre("rdma a", "rdma w"));
  Report(PartOutcome::kPass);
  EXPECT_THAT(Running(), ElementsAre("ring a", "ring b"));
}

TEST_F(WitnessStateTest, WithoutOneANodeIsNotLetInUnmeasured) {
  Suite suite = TestSuite();
  FindWitnesses({TestedNode("a")}, {TestedNode("b")}, suite);
  Begin(suite, {TestedNode("a")});
  Report(PartOutcome::kPass);
  EXPECT_TRUE(state_->finished());
  for (const char* check : {"a tcp", "a ring"}) {
    EXPECT_THAT(verdicts_[check], AllOf(HasSubstr("unknown no idle node to measure"),
                                        HasSubstr("muster validate a,ANOTHER --suite s")))
        << check;
  }
  // A suite that admits nobody says the same about skipped checks.
  stored_.clear();
  suite.admits = false;
  Begin(suite, {TestedNode("a")});
  Report(PartOutcome::kPass);
  EXPECT_THAT(verdicts_["a tcp"], HasSubstr("skipped no idle node"));
}

TEST_F(WitnessStateTest, TheOnlyNodeOfAClusterIsNotHeldUpByThat) {
  Begin(TestSuite(), {TestedNode("a")});
  Report(PartOutcome::kPass);
  EXPECT_TRUE(state_->finished());
  EXPECT_THAT(verdicts_["a tcp"], HasSubstr("skipped there is no other node"));
  EXPECT_THAT(verdicts_["a ring"], HasSubstr("skipped there is no other node"));
}

TEST_F(WitnessStateTest, WhoIsLeftByOthersThatFailedIsNotLetInUnmeasured) {
  Begin(TestSuite(), {TestedNode("a"), TestedNode("b")});
  Note(state_->OnReport("v/0.0.0.0/b", PartOutcome::kFail, now_));
  Report(PartOutcome::kPass);
  EXPECT_TRUE(state_->finished());
  EXPECT_THAT(verdicts_["a tcp"],
              HasSubstr("unknown not measured: the nodes validated together with it"));
  EXPECT_THAT(verdicts_["b tcp"], HasSubstr("failed in stage 'look'"));
}

TEST_F(WitnessStateTest, AGroupOfWhichOneIsLeftMeasuresNothing) {
  Suite suite = TestSuite();
  suite.stages.erase(suite.stages.begin());
  suite.stages[0].checks = {Check(kPlainRing)};
  ValidationNode absent = TestedNode("b");
  absent.uuid.clear();
  Begin(suite, {TestedNode("a"), absent});
  EXPECT_TRUE(state_->finished());
  EXPECT_THAT(verdicts_["a ring"], HasSubstr("unknown its partner b is not connected"));
}

}  // namespace
}  // namespace muster::controller::validation
