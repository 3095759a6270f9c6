#include "controller/validation/schedule/validation_state.h"

#include <algorithm>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/unit/controller/validation/validation_state_fixture.h"

namespace muster::controller::validation {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Kind = ValidationAction::Kind;

TEST_F(ValidationStateTest, NodesGoOnByThemselves) {
  Make(MakeSuite(
           {Stage("a", {Check(kPlainLook), Check(kPlainGemm)}), Stage("b", {Check(kPlainLook)})}),
       Nodes(2));
  EXPECT_THAT(Words(BeginAll()), ElementsAre("start v/0.0.0.0/c1", "start v/0.0.0.0/c2"));
  EXPECT_THAT(Words(Report("v/0.0.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/0.0.0.0/c1", "start v/0.1.0.0/c1"));
  EXPECT_THAT(Words(Report("v/0.1.0.0/c1", PartOutcome::kFail)),
              ElementsAre("verdict v/0.1.0.0/c1", "start v/1.0.0.0/c1"));
  EXPECT_THAT(Words(Report("v/1.0.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/1.0.0.0/c1"));
  EXPECT_EQ(PassAll(), 3);
  EXPECT_TRUE(state_->finished());
  EXPECT_EQ(verdicts_.size(), 6u);
}

TEST_F(ValidationStateTest, ChecksSideBySide) {
  SuiteStage stage = Stage("a", {Check(kPlainLook), Check(kPlainGemm)});
  stage.side_by_side = true;
  Make(MakeSuite({stage, Stage("b", {Check(kPlainLook)})}), Nodes(1));
  EXPECT_THAT(Words(BeginAll()), ElementsAre("start v/0.0.0.0/c1", "start v/0.1.0.0/c1"));
  EXPECT_THAT(Words(Report("v/0.1.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/0.1.0.0/c1"));
  EXPECT_THAT(Words(Report("v/0.0.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/0.0.0.0/c1", "start v/1.0.0.0/c1"));
}

TEST_F(ValidationStateTest, PairsMeetInRoundsAndNodesWaitForEachOther) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)}), Stage("b", {Check(kPlainTcp)}),
                  Stage("c", {Check(kPlainLook)})}),
       Nodes(4));
  BeginAll();
  Report("v/0.0.0.0/c1", PartOutcome::kPass);
  Report("v/0.0.0.0/c2", PartOutcome::kPass);
  EXPECT_THAT(Words(Report("v/0.0.0.0/c3", PartOutcome::kPass)),
              ElementsAre("verdict v/0.0.0.0/c3"));
  EXPECT_EQ(Report("v/0.0.0.0/c4", PartOutcome::kPass).size(), 1u + 4u);
  const CheckPart& part = *state_->Find("v/1.0.0.0/c1");
  const std::string partner = absl::StrCat("v/1.0.0.0/", std::string(part.Partner()));
  EXPECT_THAT(state_->OnUpdate(part.check_id, std::nullopt, now_), IsEmpty());
  EXPECT_THAT(state_->OnUpdate(part.check_id, PeerEndpoint{"", 4000}, now_), IsEmpty());
  const ValidationActions met = state_->OnUpdate(partner, PeerEndpoint{"10.0.0.9", 4001}, now_);
  EXPECT_THAT(Words(met), UnorderedElementsAre("connect v/1.0.0.0/c1", "connect " + partner));
  const std::vector<PeerEndpoint> peers = state_->PeersOf(part);
  ASSERT_EQ(peers.size(), 2u);
  EXPECT_EQ(peers[part.rank].port, 4000u);
  EXPECT_EQ(peers[1 - part.rank].address, "10.0.0.9");
  // The second round waits for the whole first one.
  EXPECT_EQ(Report(part.check_id, PartOutcome::kPass).size(), 1u);
  EXPECT_EQ(Report(partner, PartOutcome::kPass).size(), 1u);
  EXPECT_EQ(PassAll(), 2 + 4 + 4 + 4);
  EXPECT_TRUE(state_->finished());
  const auto pairs = std::count_if(verdicts_.begin(), verdicts_.end(), [](const std::string& v) {
    return v.find(" with ") != std::string::npos;
  });
  EXPECT_EQ(pairs, 4 * 3);
}

TEST_F(ValidationStateTest, SkippedWhereItDoesNotApply) {
  std::vector<ValidationNode> nodes = Nodes(2);
  nodes[1].traits = {};
  Make(MakeSuite({Stage("a", {Check(kPlainGemm, {Condition::kGpus, Condition::kSeveralGpus})}),
                  Stage("b", {Check(kPlainTcp, {Condition::kGpus})})}),
       nodes);
  EXPECT_THAT(Words(BeginAll()).back(), "finish");
  EXPECT_THAT(verdicts_, UnorderedElementsAre("c1 gemm skipped", "c2 gemm skipped",
                                              "c1 tcp skipped", "c2 tcp skipped"));
  EXPECT_THAT(reasons_, UnorderedElementsAre(HasSubstr("has no several_gpus"),
                                             HasSubstr("has no gpus, several_gpus"),
                                             HasSubstr("no other node"), HasSubstr("no gpus")));
}

TEST_F(ValidationStateTest, NodeThatFailedTakesNoPartInWhatFollows) {
  SuiteStage first = Stage("first", {Check(kPlainLook)});
  first.stop_on_fail = true;
  Make(MakeSuite({first, Stage("b", {Check(kPlainTcp)}), Stage("c", {Check(kPlainLook)})}),
       Nodes(3));
  BeginAll();
  Report("v/0.0.0.0/c2", PartOutcome::kFail);
  EXPECT_EQ(PassAll(), 2 + 2 + 2);
  EXPECT_THAT(verdicts_,
              UnorderedElementsAre("c1 look pass", "c3 look pass", "c2 look fail", "c2 tcp unknown",
                                   "c1 tcp pass with c3", "c3 tcp pass with c1", "c1 look pass",
                                   "c3 look pass", "c2 look unknown"));
  EXPECT_THAT(reasons_, ::testing::Contains("not run: the node failed in stage 'first'"));
}

TEST_F(ValidationStateTest, Cancel) {
  Make(MakeSuite({Stage("a", {Check(kPlainTcp)}), Stage("b", {Check(kPlainLook)})}), Nodes(2));
  BeginAll();
  EXPECT_THAT(Words(Note(state_->Cancel("cancelled by admin:alice", now_))),
              UnorderedElementsAre("stop v/0.0.0.0/c1", "verdict v/0.0.0.0/c1", "stop v/0.0.0.0/c2",
                                   "verdict v/0.0.0.0/c2"));
  EXPECT_THAT(reasons_, ElementsAre("cancelled by admin:alice", "cancelled by admin:alice"));
  EXPECT_TRUE(state_->cancelled());
  EXPECT_THAT(Note(state_->Cancel("again", now_)), IsEmpty());
  EXPECT_THAT(Report("v/0.0.0.0/c1", PartOutcome::kPass), IsEmpty());
  EXPECT_THAT(Report("v/0.0.0.0/c1", PartOutcome::kPass), IsEmpty()) << "a repeat";
  EXPECT_FALSE(state_->finished());
  EXPECT_THAT(Words(Report("v/0.0.0.0/c2", PartOutcome::kPass)), ElementsAre("finish"));
  EXPECT_EQ(state_->Find("v/0.0.0.0/c2")->outcome, PartOutcome::kUnknown);
}

TEST_F(ValidationStateTest, CancelWaitsForNoNodeThatRunsNothing) {
  Make(MakeSuite({Stage("a", {Check(kPlainLook)})}), Nodes(1));
  Note(state_->Begin({}, now_));
  EXPECT_THAT(Words(Note(state_->Cancel("enough", now_))),
              ElementsAre("verdict v/0.0.0.0/c1", "finish"));
}

TEST_F(ValidationStateTest, RackCarriesTwoNodesAtOnce) {
  Make(MakeSuite({Stage("a", {Check(kPlainGemm)})}), Nodes(4, 1000), {{"r1", 2300, 0}});
  BeginAll();
  Later(absl::Seconds(10));
  Later(absl::Seconds(10));
  EXPECT_EQ(RunningIds().size(), 2u);
  Report(RunningIds()[0], PartOutcome::kPass);
  Later(absl::Seconds(10));
  EXPECT_EQ(RunningIds().size(), 2u);
  for (int i = 0; i < 4; ++i) {
    PassAll();
    Later(absl::Seconds(10));
  }
  EXPECT_TRUE(state_->finished());
  EXPECT_EQ(verdicts_.size(), 4u);
}

TEST_F(ValidationStateTest, NeverFits) {
  Make(MakeSuite({Stage("a", {Check(kPlainGemm)})}), Nodes(1, 1000), {{"r1", 800, 0}});
  EXPECT_THAT(Words(BeginAll()), ElementsAre("verdict v/0.0.0.0/c1", "finish"));
  EXPECT_THAT(reasons_[0], HasSubstr("the rack carries 800 W"));
}

TEST_F(ValidationStateTest, StoppedToSavePowerIsStartedAgain) {
  Make(MakeSuite({Stage("a", {Check(kPlainGemm)})}), Nodes(2, 1000), {{"r1", 2300, 0}});
  BeginAll();
  Later(absl::Seconds(10));
  ASSERT_EQ(RunningIds().size(), 2u);
  EXPECT_THAT(Words(Note(state_->OnPower("c1", 1500, now_))), ElementsAre("stop v/0.0.0.0/c2"));
  EXPECT_THAT(Report("v/0.0.0.0/c2", PartOutcome::kUnknown), IsEmpty());
  EXPECT_THAT(Words(Report("v/0.0.0.0/c1", PartOutcome::kPass)),
              ElementsAre("verdict v/0.0.0.0/c1"));
  EXPECT_THAT(Words(Later(absl::Seconds(10))), ElementsAre("start v/0.0.0.1/c2"));
  PassAll();
  EXPECT_THAT(verdicts_, ElementsAre("c1 gemm pass", "c2 gemm pass"));
  EXPECT_TRUE(state_->finished());
}

TEST_F(ValidationStateTest, RestartGoesOnWhereItWas) {
  const Suite suite = MakeSuite({Stage("a", {Check(kPlainLook)}), Stage("b", {Check(kPlainTcp)})});
  Make(suite, Nodes(3));
  BeginAll();
  Report("v/0.0.0.0/c1", PartOutcome::kFail);
  Report("v/0.0.0.0/c2", PartOutcome::kPass);
  Make(suite, Nodes(3), {}, Stored());
  verdicts_.clear();
  EXPECT_THAT(Note(state_->Begin({}, now_)), IsEmpty());  // c3 is running, the others wait
  EXPECT_EQ(state_->Find("v/0.0.0.0/c1")->outcome, PartOutcome::kFail);
  Note(state_->OnConnected("uc1", {}, now_));
  Note(state_->OnConnected("uc2", {}, now_));
  EXPECT_THAT(Note(state_->OnConnected("uc3", {"v/0.0.0.0/c3"}, now_)), IsEmpty());
  EXPECT_EQ(Report("v/0.0.0.0/c3", PartOutcome::kPass).size(), 3u);
  // A node whose agent does not know the check that was running before a second restart never
  // passes.
  Make(suite, Nodes(3), {}, Stored());
  Note(state_->Begin({}, now_));
  for (const char* uuid : {"uc1", "uc2", "uc3"}) Note(state_->OnConnected(uuid, {}, now_));
  EXPECT_EQ(std::count_if(verdicts_.begin(), verdicts_.end(),
                          [](const std::string& v) {
                            return v.find("tcp unknown with") != std::string::npos;
                          }),
            2);
  PassAll();
  EXPECT_TRUE(state_->finished());
}

TEST_F(ValidationStateTest, TooManyPairsAreRefused) {
  Suite suite = MakeSuite({Stage("a", {Check(kPlainTcp)})});
  EXPECT_EQ(ValidationState::CheckSize(suite, 1000, 0), "");
  EXPECT_THAT(ValidationState::CheckSize(suite, 10000, 0), HasSubstr("limit max_rounds"));
  EXPECT_EQ(ValidationState::CheckSize(suite, 10000, 8), "");
  suite.stages[0].checks[0].max_rounds = 8;
  EXPECT_EQ(ValidationState::CheckSize(suite, 10000, 0), "");
}

TEST_F(ValidationStateTest, TooManyNodesForOneRingAreRefused) {
  const Suite suite = MakeSuite({Stage("a", {Check(kPlainGemm)}), Stage("b", {Check(kPlainRing)})});
  EXPECT_EQ(ValidationState::CheckSize(suite, 4096, 0), "");
  EXPECT_THAT(ValidationState::CheckSize(suite, 4097, 0),
              AllOf(HasSubstr("4097"), HasSubstr("4096")));
  EXPECT_EQ(ValidationState::CheckSize(MakeSuite({Stage("a", {Check(kPlainGemm)})}), 4097, 0), "");
}

// Whatever happens in whatever order: it ends, every node has each verdict once, and a part that
// was started and ended without a report of a pass has not passed.
TEST_F(ValidationStateTest, AlwaysEnds) {
  SuiteStage two = Stage("two", {Check(kPlainGemm), Check(kPlainTcp)});
  two.side_by_side = true;
  SuiteStage first = Stage("first", {Check(kPlainLook)});
  first.stop_on_fail = true;
  const Suite suite = MakeSuite({first, Stage("burn", {Check(kPlainGemm, {Condition::kGpus})}), two,
                                 Stage("net", {Check(kPlainTcp), Check(kPlainRing)}),
                                 Stage("last", {Check(kPlainLook)})});
  for (unsigned seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const int count = 1 + static_cast<int>(random() % 7);
    std::vector<ValidationNode> nodes = Nodes(count, 1000);
    for (ValidationNode& node : nodes) node.traits.gpus = random() % 4 != 0;
    const std::vector<RackPower> racks = {{"r1", 1500.0 + random() % 3000, 0}};
    now_ = kPlainStart;
    stored_.clear();
    verdicts_.clear();
    Make(suite, nodes, racks);
    std::set<std::string> passed;
    BeginAll();
    for (int turn = 0; turn < 3000 && !state_->finished(); ++turn) {
      const std::string uuid = absl::StrCat("uc", 1 + random() % count);
      const std::vector<std::string> running = RunningIds();
      const unsigned what = random() % 40;
      if (what == 0) {
        Note(state_->OnDisconnected(uuid, now_));
      } else if (what <= 4) {
        std::set<std::string> known;
        if (random() % 2 == 0) known.insert(running.begin(), running.end());
        Note(state_->OnConnected(uuid, known, now_));
      } else if (what == 5 && random() % 10 == 0) {
        Make(suite, nodes, racks, Stored());
        Note(state_->Begin({}, now_));
      } else if (what == 6 && !running.empty()) {
        Note(state_->OnPower(state_->Find(running[0])->node, 900.0 + random() % 300, now_));
      } else if (what < 12) {
        Later(absl::Seconds(random() % 20));
      } else if (!running.empty()) {
        const std::string& id = running[random() % running.size()];
        auto outcome = PartOutcome::kPass;
        if (random() % 8 == 0) outcome = static_cast<PartOutcome>(1 + random() % 4);
        if (outcome == PartOutcome::kPass) passed.insert(id);
        Note(state_->OnUpdate(id, PeerEndpoint{"", 1}, now_));
        Report(id, outcome);
      }
    }
    for (int i = 0; i < 2000 && !state_->finished(); ++i) Later(absl::Minutes(2));
    ASSERT_TRUE(state_->finished());
    std::map<std::string, int> per_check;
    for (const auto& [id, part] : stored_) {
      ASSERT_EQ(part.phase, PartPhase::kEnded) << id;
      if (part.outcome == PartOutcome::kPass) {
        EXPECT_EQ(passed.count(id), 1u) << id;
      }
      if (!part.put_back) {
        ++per_check[absl::StrCat(part.stage, ".", part.check, " ", part.node)];
      }
    }
    for (size_t stage = 0; stage < suite.stages.size(); ++stage) {
      for (size_t check = 0; check < suite.stages[stage].checks.size(); ++check) {
        if (suite.stages[stage].checks[check].spec == &kPlainTcp) continue;
        for (const ValidationNode& node : nodes) {
          EXPECT_EQ(per_check[absl::StrCat(stage, ".", check, " ", node.name)], 1)
              << stage << "." << check << " " << node.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace muster::controller::validation
