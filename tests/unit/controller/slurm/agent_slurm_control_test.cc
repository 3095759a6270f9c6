#include "controller/slurm/agent_slurm_control.h"

#include <deque>
#include <functional>
#include <future>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/status_matchers.h"

namespace muster::controller::slurm {
namespace {

using ::muster::testing::FakeClock;
using ::muster::testing::Said;
using ::muster::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Agents that answer at once, with the test's answers.
class AnsweringSessions final : public AgentSessions {
 public:
  absl::Status Send(absl::string_view node_uuid, const v1::ControllerMessage& message) override {
    requests.push_back(message.slurm_request());
    if (status.ok() && on_request) on_request(std::string(node_uuid), message.slurm_request());
    return status;
  }
  absl::Status SendPlan(absl::string_view, std::shared_ptr<const std::string>) override {
    return absl::UnimplementedError("nobody sends plans here");
  }
  bool IsConnected(absl::string_view uuid) const override {
    return status.ok() && away.count(std::string(uuid)) == 0;
  }
  std::vector<AgentSessionInfo> List() const override { return {}; }
  void Disconnect(absl::string_view, const absl::Status&) override {}

  std::function<void(const std::string& uuid, const v1::SlurmRequest& request)> on_request;
  std::vector<v1::SlurmRequest> requests;
  absl::Status status;
  std::set<std::string> away;
};

class AgentSlurmControlTest : public ::testing::Test {
 protected:
  // The next answer of the agent.
  v1::SlurmAnswer& Answer() {
    sessions_.on_request = [this](const std::string& uuid, const v1::SlurmRequest& request) {
      v1::SlurmAnswer answer = answers_.size() > 1 ? answers_.front() : answers_.back();
      if (answers_.size() > 1) answers_.pop_front();
      answer.set_request_id(request.request_id());
      slurm_.OnSlurmAnswer(uuid, answer);
    };
    return answers_.emplace_back();
  }

  AnsweringSessions sessions_;
  FakeClock clock_;
  std::deque<v1::SlurmAnswer> answers_;
  absl::StatusOr<SlurmctldPlace> place_ = SlurmctldPlace{"login1", "u-login1"};
  int connected_ = 0;
  AgentSlurmControl slurm_{sessions_, clock_, [this] { return place_; }, [this] { ++connected_; }};
};

TEST_F(AgentSlurmControlTest, ListsNodesOfAllParts) {
  v1::SlurmAnswer& first = Answer();
  first.mutable_nodes()->add_nodes()->set_name("c001");
  first.mutable_nodes()->set_has_more(true);
  v1::SlurmNode& drained = *Answer().mutable_nodes()->add_nodes();
  drained.set_name("c002");
  drained.set_state("IDLE+DRAIN");
  drained.set_is_drained(true);
  drained.set_is_held(true);
  drained.set_takes_jobs(true);  // cannot be both
  drained.set_reason("bad disk");
  drained.set_reason_user("root");
  const std::vector<SlurmNode> nodes = slurm_.Nodes().value();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].name, "c001");
  EXPECT_EQ(nodes[1].reason, "bad disk");
  EXPECT_TRUE(nodes[1].is_held);
  EXPECT_FALSE(nodes[1].takes_jobs);
  EXPECT_EQ(sessions_.requests[1].list_nodes().after(), "c001");
}

TEST_F(AgentSlurmControlTest, ANodeThatSlurmctldDoesNotReachIsSilent) {
  struct Case {
    const char* state;
    bool is_silent;
  };
  constexpr Case kCases[] = {{"IDLE", false},          {"IDLE*", true},
                             {"MIXED+PLANNED", false}, {"IDLE*+CLOUD", true},
                             {"IDLE+DRAIN", false},    {"IDLE+NOT_RESPONDING", true}};
  v1::SlurmAnswer& answer = Answer();
  for (const Case& each : kCases) {
    v1::SlurmNode& node = *answer.mutable_nodes()->add_nodes();
    node.set_name(absl::StrCat("c00", answer.nodes().nodes_size()));
    node.set_state(each.state);
  }
  const std::vector<SlurmNode> nodes = slurm_.Nodes().value();
  ASSERT_EQ(nodes.size(), std::size(kCases));
  for (size_t i = 0; i < nodes.size(); ++i)
    EXPECT_EQ(nodes[i].is_silent, kCases[i].is_silent) << kCases[i].state;
}

TEST_F(AgentSlurmControlTest, ABackupIsAskedWhileTheFirstIsAway) {
  const std::vector<SlurmctldPlace> places = {{"login1", "u-login1"}, {"login2", "u-login2"}};
  EXPECT_EQ(PlaceToAsk(places, sessions_).node, "login1");
  sessions_.away = {"u-login1"};
  EXPECT_EQ(PlaceToAsk(places, sessions_).node, "login2");
  sessions_.away = {"u-login1", "u-login2"};
  EXPECT_EQ(PlaceToAsk(places, sessions_).node, "login1");
}

TEST_F(AgentSlurmControlTest, AListWithoutEndIsLeft) {
  v1::SlurmAnswer& same = Answer();
  same.mutable_nodes()->add_nodes()->set_name("c001");
  same.mutable_nodes()->set_has_more(true);
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kInternal, Said()));
}

TEST_F(AgentSlurmControlTest, ChangesComeInPartsAndNameWhatWasLeftAlone) {
  v1::SlurmLeftAlone& left = *Answer().mutable_changed()->add_left_alone();
  left.set_node("c3");
  left.set_why("drained by root: bad disk");
  std::vector<NodeChange> changes;
  for (int i = 0; i < 700; ++i) changes.push_back({absl::StrCat("c", i), "muster:gate x"});
  EXPECT_THAT(slurm_.Drain(changes, "muster:v-1 y").value(),
              ElementsAre(Pair("c3", "drained by root: bad disk")));
  ASSERT_EQ(sessions_.requests.size(), 2u);
  EXPECT_EQ(sessions_.requests[0].drain().nodes_size(), 512);
  EXPECT_EQ(sessions_.requests[1].drain().nodes_size(), 188);
  EXPECT_EQ(sessions_.requests[1].drain().nodes(187).expected_reason(), "muster:gate x");
  EXPECT_OK(slurm_.Undrain({{"c001", "muster:gate x"}}));
  EXPECT_EQ(sessions_.requests[2].undrain().nodes(0).node(), "c001");
  EXPECT_THAT(slurm_.Drain({}, "muster:v-1 y").value(), IsEmpty());
  EXPECT_EQ(sessions_.requests.size(), 3u) << "nothing to do, nothing asked";
}

TEST_F(AgentSlurmControlTest, JobsOfOtherNodesAreNotTaken) {
  v1::SlurmAnswer& answer = Answer();
  for (const char* name : {"c001", "c009"}) {
    v1::SlurmNodeJobs& node = *answer.mutable_jobs()->add_nodes();
    node.set_node(name);
    v1::SlurmJobInfo& job = *node.add_jobs();
    job.set_id("12");
    job.set_user("eve");
    job.set_name("train");
  }
  EXPECT_EQ(DescribeWhere(slurm_.JobsOn({"c001", "c002"}).value()),
            "job 12 (eve, train) runs on c001");
}

TEST_F(AgentSlurmControlTest, OtherNodesLeftAloneAreNotTaken) {
  v1::SlurmAnswer& answer = Answer();
  for (const char* name : {"c001", "c009"}) {
    v1::SlurmLeftAlone& left = *answer.mutable_changed()->add_left_alone();
    left.set_node(name);
    left.set_why("drained by root: bad disk");
  }
  const auto left = ElementsAre(Pair("c001", "drained by root: bad disk"));
  EXPECT_THAT(slurm_.Drain({{"c001", ""}, {"c002", ""}}, "muster:v-1 y").value(), left);
  EXPECT_THAT(slurm_.Undrain({{"c001", "muster:v-1 y"}}).value(), left);
}

TEST_F(AgentSlurmControlTest, RequeuesJobsAndNamesThoseLeftAlone) {
  v1::SlurmAnswer& answer = Answer();
  for (const char* id : {"12", "99"}) {
    v1::SlurmJobLeftAlone& left = *answer.mutable_requeued()->add_left_alone();
    left.set_id(id);
    left.set_why("it is not a batch job");
  }
  EXPECT_THAT(
      slurm_.Requeue({{"12", "c001"}, {"13_4", "c002"}, {"14+1", "c002"}}).value(),
      ElementsAre(Pair("12", "it is not a batch job"), Pair("14+1", "it is a part of another job")))
      << "nobody asked for job 99";
  ASSERT_EQ(sessions_.requests.size(), 1u);
  const v1::RequeueSlurmJobs& asked = sessions_.requests[0].requeue_jobs();
  ASSERT_EQ(asked.jobs_size(), 2);
  EXPECT_EQ(asked.jobs(1).id(), "13_4");
  EXPECT_EQ(asked.jobs(1).node(), "c002");
}

TEST_F(AgentSlurmControlTest, SaysWhichNodeDoesNotAnswerAndWhy) {
  sessions_.status = absl::UnavailableError("the node is not connected");
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  sessions_.status = absl::OkStatus();

  v1::SlurmAnswer& away = Answer();
  away.set_code(14);
  away.set_message("slurmctld does not answer");
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  away.set_code(4711);
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnknown, Said()));
  away.set_code(0);
  away.mutable_jobs();
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kInternal, Said()));

  place_ = absl::FailedPreconditionError("login1 has not joined");
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kFailedPrecondition, Said()));
}

TEST_F(AgentSlurmControlTest, AnswersOfOthersAndOfEarlierCountForNothing) {
  sessions_.on_request = [this](const std::string& uuid, const v1::SlurmRequest& request) {
    v1::SlurmAnswer lie;
    lie.set_request_id(request.request_id());
    lie.mutable_nodes()->add_nodes()->set_name("lie");
    slurm_.OnSlurmAnswer("u-c001", lie);  // from another node
    v1::SlurmAnswer late = lie;
    late.set_request_id("long ago");
    slurm_.OnSlurmAnswer(uuid, late);
    v1::SlurmAnswer answer;
    answer.set_request_id(request.request_id());
    answer.mutable_nodes()->add_nodes()->set_name("c001");
    slurm_.OnSlurmAnswer(uuid, answer);
    slurm_.OnSlurmAnswer(uuid, lie);  // a second one
  };
  EXPECT_EQ(slurm_.Nodes()->at(0).name, "c001");
}

TEST_F(AgentSlurmControlTest, NobodyWaitsLongerThanTheConnectionTheClockOrTheController) {
  sessions_.on_request = [this](const std::string&, const v1::SlurmRequest&) {
    slurm_.OnDisconnected("u-c001");  // not the node in question
    slurm_.OnDisconnected("u-login1");
  };
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  // A session that replaces another is reported only as a new connection.
  sessions_.on_request = [this](const std::string&, const v1::SlurmRequest&) {
    slurm_.OnConnected("u-login1", {});
  };
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  sessions_.on_request = [this](const std::string&, const v1::SlurmRequest&) {
    clock_.Advance(AgentSlurmControl::kPatience + absl::Seconds(1));
  };
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
  slurm_.Stop();
  EXPECT_THAT(slurm_.Nodes(), StatusIs(absl::StatusCode::kUnavailable, Said()));
}

TEST_F(AgentSlurmControlTest, TellsWhenTheAgentThereConnects) {
  slurm_.OnConnected("u-c001", {});
  EXPECT_EQ(connected_, 1) << "it may be the one, as long as it is not known which it is";
  Answer().mutable_nodes();
  ASSERT_OK(slurm_.Nodes());
  slurm_.OnConnected("u-c001", {});
  EXPECT_EQ(connected_, 1);
  slurm_.OnConnected("u-login1", {});
  EXPECT_EQ(connected_, 2);
}

}  // namespace
}  // namespace muster::controller::slurm
