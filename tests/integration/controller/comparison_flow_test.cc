// Nodes that are held against each other over the wire, with the names of their packages.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "muster/v1/drift.grpc.pb.h"
#include "tests/fixtures/enrolled_controller.h"

namespace muster::controller {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ComparisonFlowTest : public EnrolledControllerFixture {
 protected:
  void TearDown() override {
    for (const auto& agent : agents_) agent->context.TryCancel();
    for (std::thread& each : threads_) each.join();
    agents_.clear();
    EnrolledControllerFixture::TearDown();
  }

  // An agent of that node, which tells this package beside one that all have.
  void Play(size_t node, const std::string& package) {
    std::shared_ptr<Agent> agent = Greet(nodes_[node]);
    ASSERT_NE(agent, nullptr);
    agents_.push_back(agent);
    v1::AgentMessage facts;
    facts.mutable_facts()->mutable_facts()->mutable_machine()->set_product("a server");
    v1::PackageFacts& told = *facts.mutable_facts()->mutable_facts()->mutable_packages();
    told.set_count(2);
    told.set_digest(package.substr(0, package.find(' ')));
    agent->stream->Write(facts);
    told.add_lines("bash amd64 5.2");
    told.add_lines(package);
    threads_.emplace_back([agent, facts]() mutable {
      v1::ControllerMessage asked;
      while (agent->stream->Read(&asked)) {
        if (!asked.has_gather_facts()) continue;
        facts.mutable_facts()->set_request_id(asked.gather_facts().request_id());
        agent->stream->Write(facts);
      }
    });
  }

  v1::CompareNodesResponse Compare(bool name_packages) {
    const auto stub =
        v1::DriftService::NewStub(Connect(controller_->port(), Issue(Role::kViewer, "vera")));
    grpc::ClientContext context;
    v1::CompareNodesRequest request;
    request.set_name_packages(name_packages);
    v1::CompareNodesResponse response;
    const grpc::Status status = stub->CompareNodes(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::vector<std::shared_ptr<Agent>> agents_;
  std::vector<std::thread> threads_;
};

TEST_F(ComparisonFlowTest, NodesAreAskedForTheNamesOfTheirPackages) {
  Play(0, "munge amd64 0.5");
  Play(1, "strace amd64 6.1");
  const auto has_both = [](const v1::CompareNodesResponse& response) {
    return response.classes_size() == 1 && response.classes(0).nodes_size() == 2;
  };
  for (int i = 0; i < 500 && !has_both(Compare(false)); ++i) absl::SleepFor(absl::Milliseconds(20));
  ASSERT_TRUE(has_both(Compare(false)));
  EXPECT_THAT(Compare(false).classes(0).package_differences(), IsEmpty());
  const v1::CompareNodesResponse response = Compare(true);
  ASSERT_EQ(response.classes(0).package_differences_size(), 1);
  const v1::PackageDifferences& differences = response.classes(0).package_differences(0);
  EXPECT_EQ(differences.message(), "");
  std::vector<std::string> named;
  for (const v1::PackageDifference& each : differences.packages())
    named.push_back(absl::StrCat(each.name(), " ", each.version(), "/", each.common_version()));
  EXPECT_THAT(named, differences.node() == "c002" ? ElementsAre("munge /0.5", "strace 6.1/")
                                                  : ElementsAre("munge 0.5/", "strace /6.1"));
}

}  // namespace
}  // namespace muster::controller
