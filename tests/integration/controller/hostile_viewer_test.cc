// The harm that one person can do to others with a read-only certificate: using up shared
// resources. The limits hold, and nobody else notices.
#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "controller/service/front/call_shares.h"
#include "controller/session/facts_keeper.h"
#include "muster/v1/artifact.grpc.pb.h"
#include "muster/v1/explain.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "tests/fixtures/enrolled_controller.h"

namespace muster::controller {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::Duration kViewerPatience = absl::Seconds(60);

// Calls in threads of their own, and their results.
class Calls {
 public:
  ~Calls() {
    for (std::thread& each : threads_) each.join();
  }
  void Make(std::function<grpc::Status()> call) {
    threads_.emplace_back([this, call = std::move(call)] {
      const grpc::Status status = call();
      absl::MutexLock lock(&mutex_);
      ended_.push_back(status);
    });
  }
  // The results of the first `count`; fewer: the others are still running.
  std::vector<grpc::Status> Await(size_t count, absl::Duration patience = kViewerPatience) {
    const auto enough = [this, count] { return ended_.size() >= count; };
    absl::MutexLock lock(&mutex_);
    mutex_.AwaitWithTimeout(absl::Condition(&enough), patience);
    return ended_;
  }

 private:
  absl::Mutex mutex_;
  std::vector<grpc::Status> ended_;
  std::list<std::thread> threads_;
};

class HostileViewerTest : public EnrolledControllerFixture {
 protected:
  void SetUp() override {
    config_.operator_bundles = "any";  // the amount of requests is tested here, not their content
    EnrolledControllerFixture::SetUp();
  }

  std::shared_ptr<grpc::Channel> ConnectAs(Role role, const std::string& name) {
    return Connect(controller_->port(), Issue(role, name));
  }

  // A run that continues until it is cancelled: the first node is connected and never reports its
  // facts.
  std::string BeginRun() {
    const std::string bundle =
        sys::PackTarGz({{"site.yaml", "- {play: all, hosts: compute, roles: [r]}\n"},
                        {"roles/r/tasks/main.yaml", "- {name: n, hostname: {name: x}}\n"}})
            .value();
    auto blobs = DiskBlobStore::Open(config_.state_directory + "/blobs").value();
    v1::CreateRunRequest request;
    request.set_bundle_sha256(blobs->Put(bundle).value());
    request.set_playbook("site.yaml");
    v1::CreateRunResponse response;
    grpc::ClientContext context;
    const grpc::Status status = v1::RunService::NewStub(ConnectAs(Role::kOperator, "oscar"))
                                    ->CreateRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().run_id();
  }
  void CancelRun(const std::string& run_id) {
    v1::CancelRunRequest request;
    request.set_run_id(run_id);
    v1::CancelRunResponse response;
    grpc::ClientContext context;
    const grpc::Status status = v1::RunService::NewStub(ConnectAs(Role::kOperator, "oscar"))
                                    ->CancelRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }

  // Watches until the run's end.
  static grpc::Status Watch(const std::shared_ptr<grpc::Channel>& channel,
                            const std::string& run_id) {
    v1::WatchRunRequest request;
    request.set_run_id(run_id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    const auto events = v1::RunService::NewStub(channel)->WatchRun(&context, request);
    v1::RunEvent event;
    while (events->Read(&event)) continue;
    return events->Finish();
  }
  static grpc::Status Refresh(const std::shared_ptr<grpc::Channel>& channel,
                              const std::string& node) {
    v1::GetNodeFactsRequest request;
    request.set_name(node);
    request.set_refresh(true);
    v1::GetNodeFactsResponse response;
    grpc::ClientContext context;
    return v1::NodeService::NewStub(channel)->GetNodeFacts(&context, request, &response);
  }
};

TEST_F(HostileViewerTest, WatchesOfOnePersonAreBoundedAcrossConnections) {
  const std::unique_ptr<Agent> silent = Greet(nodes_[0]);
  ASSERT_NE(silent, nullptr);
  const std::string run_id = BeginRun();
  const size_t most = MostAtOnce(CallKind::kWatch);
  constexpr size_t kTooMany = 5;
  const ClientIdentity eve = Issue(Role::kViewer, "eve");
  Calls watches;
  for (size_t i = 0; i < most + kTooMany; ++i) {
    watches.Make([this, &eve, run_id] { return Watch(Connect(controller_->port(), eve), run_id); });
  }
  const std::vector<grpc::Status> refused = watches.Await(kTooMany);
  ASSERT_EQ(refused.size(), kTooMany);
  for (const grpc::Status& status : refused) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("eve has 16 watches of runs and validations"));
  }
  EXPECT_EQ(watches.Await(kTooMany + 1, absl::Milliseconds(300)).size(), kTooMany);
  // A second certificate of the same person has no share of its own; other people have theirs.
  EXPECT_EQ(Watch(ConnectAs(Role::kViewer, "eve"), run_id).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  Calls of_others;
  of_others.Make([this, run_id] { return Watch(ConnectAs(Role::kViewer, "vera"), run_id); });
  EXPECT_TRUE(silent->Beat());
  EXPECT_NE(Greet(nodes_[1]), nullptr) << "nodes are not people";
  CancelRun(run_id);
  for (const grpc::Status& status : of_others.Await(1)) EXPECT_TRUE(status.ok());
  EXPECT_EQ(watches.Await(most + kTooMany).size(), most + kTooMany);
  // Ended calls return their share.
  EXPECT_TRUE(Watch(ConnectAs(Role::kViewer, "eve"), run_id).ok());
}

// Each of these holds a thread, for as long as its other end wants.
TEST_F(HostileViewerTest, TransfersOfOnePersonAreBounded) {
  struct Upload {
    grpc::ClientContext context;
    v1::UploadBundleResponse response;
    std::unique_ptr<grpc::ClientWriter<v1::UploadBundleRequest>> writer;
  };
  const auto stub = v1::ArtifactService::NewStub(ConnectAs(Role::kOperator, "oscar"));
  std::list<Upload> uploads;
  const auto begin = [&](v1::ArtifactService::Stub& by) -> Upload& {
    Upload& upload = uploads.emplace_back();
    upload.writer = by.UploadBundle(&upload.context, &upload.response);
    return upload;
  };
  std::vector<Upload*> held;
  for (size_t i = 0; i < MostAtOnce(CallKind::kTransfer); ++i) held.push_back(&begin(*stub));
  const grpc::Status refused = begin(*stub).writer->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("oscar has 4 transfers"));
  const auto other = v1::ArtifactService::NewStub(ConnectAs(Role::kOperator, "olga"));
  Upload& of_olga = begin(*other);
  of_olga.writer->WritesDone();
  // An empty upload is an error by itself.
  EXPECT_EQ(of_olga.writer->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  for (Upload* upload : held) {
    upload->context.TryCancel();
    upload->writer->Finish();
  }
}

TEST_F(HostileViewerTest, RefreshesOfFactsAreBoundedForOnePerson) {
  std::unique_ptr<Agent> silent = Greet(nodes_[0]);
  ASSERT_NE(silent, nullptr);
  const auto eve = ConnectAs(Role::kViewer, "eve");
  const std::string name = nodes_[0].name;
  Calls waiting;
  v1::ControllerMessage asked;
  const auto begin = [&](const std::shared_ptr<grpc::Channel>& channel) {
    waiting.Make([channel, name] { return Refresh(channel, name); });
    // The controller may want its health, too.
    while (silent->stream->Read(&asked)) {
      if (asked.has_gather_facts()) return true;
    }
    return false;
  };
  for (size_t i = 0; i < FactsKeeper::kMaxRefreshesOfPerson; ++i) ASSERT_TRUE(begin(eve));
  const grpc::Status refused = Refresh(eve, name);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("eve is already waiting for the facts of 2 nodes"));
  EXPECT_TRUE(begin(ConnectAs(Role::kViewer, "vera"))) << "others may ask";
  silent.reset();
  const std::vector<grpc::Status> ended = waiting.Await(FactsKeeper::kMaxRefreshesOfPerson + 1);
  EXPECT_EQ(ended.size(), FactsKeeper::kMaxRefreshesOfPerson + 1);
  for (const grpc::Status& status : ended)
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// Calls beyond the share are refused by name, none hangs, and afterwards the whole share is
// available again.
TEST_F(HostileViewerTest, StormOfQuickCallsIsAnsweredOrRefusedAndLeavesNothingBehind) {
  constexpr int kStorm = 300;
  const auto eve = ConnectAs(Role::kViewer, "eve");
  const auto list = [](const std::shared_ptr<grpc::Channel>& channel) {
    v1::ListNodesResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(2));
    return v1::NodeService::NewStub(channel)->ListNodes(&context, {}, &response);
  };
  {
    Calls storm;
    for (int i = 0; i < kStorm; ++i) storm.Make([&] { return list(eve); });
    const auto vera = ConnectAs(Role::kViewer, "vera");
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(list(vera).ok());
    int answered = 0;
    const std::vector<grpc::Status> ended = storm.Await(kStorm);
    EXPECT_EQ(ended.size(), static_cast<size_t>(kStorm));
    for (const grpc::Status& status : ended) {
      answered += status.ok();
      EXPECT_THAT(status.error_code(),
                  AnyOf(Eq(grpc::StatusCode::OK), Eq(grpc::StatusCode::RESOURCE_EXHAUSTED)))
          << status.error_message();
      if (status.ok()) continue;
      EXPECT_THAT(status.error_message(), HasSubstr("eve has 16 calls"));
    }
    EXPECT_GE(answered, static_cast<int>(MostAtOnce(CallKind::kQuick)));
  }
  for (size_t i = 0; i < 4 * MostAtOnce(CallKind::kQuick); ++i) EXPECT_TRUE(list(eve).ok());
}

// A value that nests a million times ended musterd, by the recursion of whatever copied it.
TEST_F(HostileViewerTest, NestedVariablesAreRefused) {
  const auto stub = v1::ExplainService::NewStub(ConnectAs(Role::kViewer, "eve"));
  v1::ExplainVariableRequest request;
  request.set_name("x");
  request.set_node(nodes_[0].name);
  (*request.mutable_extra_vars())["x"] = std::string(1 << 20, '[') + std::string(1 << 20, ']');
  v1::ExplainVariableResponse response;
  grpc::ClientContext context;
  const grpc::Status refused = stub->ExplainVariable(&context, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("-e x: "));
  EXPECT_NE(Greet(nodes_[0]), nullptr) << "the controller still answers";
}

// The nice values of this process's threads of that name.
std::vector<int> NicenessOf(const std::string& name) {
  std::vector<int> niceness;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream stat(task.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(stat)), std::istreambuf_iterator<char>());
    const size_t open = text.find('('), close = text.rfind(')');
    if (close == std::string::npos || text.substr(open + 1, close - open - 1) != name) continue;
    // proc(5): the 19th field; the third follows the name.
    const std::vector<std::string> fields = absl::StrSplit(text.substr(close + 2), ' ');
    niceness.push_back(std::stoi(fields[16]));
  }
  return niceness;
}

// gRPC's names for a thread that answers a call, and for one that runs the callbacks, including
// agents'.
TEST_F(HostileViewerTest, ThreadsThatAnswerPeopleGiveWayToThoseOfAgents) {
  const std::string run_id = BeginRun();
  const std::unique_ptr<Agent> agent = Greet(nodes_[0]);
  ASSERT_NE(agent, nullptr);
  Calls calls;
  calls.Make([&] { return Watch(ConnectAs(Role::kViewer, "eve"), run_id); });
  const auto viewer = v1::NodeService::NewStub(ConnectAs(Role::kViewer, "eve"));
  const auto looks = [&] {
    grpc::ClientContext context;
    v1::ListNodesResponse response;
    EXPECT_TRUE(viewer->ListNodes(&context, {}, &response).ok());
    return NicenessOf("grpcpp_sync_ser");
  };
  std::vector<int> of_people = looks();
  // A different thread may answer each time.
  for (int i = 0; i < 100 && absl::c_count(of_people, 10) == 0; ++i) of_people = looks();
  EXPECT_THAT(of_people, Contains(10));
  CancelRun(run_id);
  EXPECT_EQ(calls.Await(1).size(), 1u);
  const std::vector<int> of_agents = NicenessOf("nexting_thread");
  EXPECT_THAT(of_agents, Not(IsEmpty()));
  EXPECT_THAT(of_agents, Each(getpriority(PRIO_PROCESS, 0)));
}

}  // namespace
}  // namespace muster::controller
