// A small swarm of agents against a whole controller: a run over all, and all reconnecting at once.
#include "absl/strings/str_format.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/sys/archive/archive.h"
#include "controller/artifact/blob_store.h"
#include "muster/v1/run.grpc.pb.h"
#include "tests/fakes/agent_swarm.h"
#include "tests/fixtures/gpu_node_facts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using testing::AgentSwarm;

constexpr size_t kNodes = 50;
constexpr absl::Duration kPatience = absl::Seconds(60);

class SwarmTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    // Restarted on the same port, so that the swarm finds it again.
    const pki::KeyAndCsr key = pki::MakeKeyAndCsr("swarm").value();
    const std::unique_ptr<Store> store = OpenStore(config_.state_directory + "/muster.db").value();
    ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
      v1::ApplyInventoryRequest inventory;
      v1::InventoryFile& file = *inventory.add_files();
      file.set_path("cluster.yaml");
      file.set_content("cluster: test\nnodes:\n  \"c[001-050]\": {role: compute}\n");
      RETURN_IF_ERROR(
          txn.inventory().Insert({2, absl::Now(), "test", inventory.SerializeAsString()}));
      for (size_t i = 1; i <= kNodes; ++i) {
        NodeRecord node;
        node.uuid = NewUuid();
        node.name = absl::StrFormat("c%03d", i);
        node.state = NodeRecord::kEnrolled;
        RETURN_IF_ERROR(txn.nodes().Put(node));
        ASSIGN_OR_RETURN(const IssuedCertificate issued,
                         ca_->IssueNode(key.csr_pem, node.uuid, node.name, absl::Now()));
        RETURN_IF_ERROR(txn.certificates().Insert(issued.record));
        machines_.push_back({node.uuid, node.name, issued.pem});
      }
      return absl::OkStatus();
    }));
    options_.key_pem = key.key_pem;
    options_.ca_pem = authority_.certificate_pem;
    options_.facts = testing::FactsOfAGpuNode();
    options_.first_backoff = absl::Milliseconds(100);
    options_.longest_backoff = absl::Seconds(1);
  }

  // A play whose file names every node, which is much too large to be sent 50 times in plans.
  std::string KeepBundle() {
    const std::string bundle =
        sys::PackTarGz(
            {{"site.yaml", "- {play: all, hosts: compute, roles: [r]}\n"},
             {"roles/r/tasks/main.yaml",
              "- {name: all, file: {path: /etc/all, template: all.j2}}\n"
              "- {name: own, file: {path: /etc/own, content: \"{{ nodes[node.name].facts.os"
              ".hostname }}\"}}\n"
              "- {name: never, when: node.name == 'x', hostname: {name: x}}\n"},
             {"roles/r/templates/all.j2",
              "{% for n in nodes.values() %}{{ n.name }} {{ n.facts.gpus | length }} "
              "{{ 'x' * 200 }}\n{% endfor %}"}})
            .value();
    auto blobs = DiskBlobStore::Open(config_.state_directory + "/blobs").value();
    return blobs->Put(bundle).value();
  }

  std::unique_ptr<v1::RunService::Stub> Admin() {
    return v1::RunService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "alice")));
  }

  std::vector<AgentSwarm::Machine> machines_;
  AgentSwarm::Options options_;
};

TEST_F(SwarmTest, RunsOverAllAndGreetsAllAgainAfterARestart) {
  const std::string bundle = KeepBundle();
  Start();
  options_.address = absl::StrCat("localhost:", controller_->port());
  config_.listen = absl::StrCat("127.0.0.1:", controller_->port());
  AgentSwarm swarm(options_, std::move(machines_));
  swarm.Start();
  ASSERT_TRUE(swarm.AwaitGreeted(kNodes, kPatience));

  v1::CreateRunRequest request;
  request.set_bundle_sha256(bundle);
  request.set_playbook("site.yaml");
  v1::CreateRunResponse created;
  auto stub = Admin();
  grpc::ClientContext creating;
  const grpc::Status status = stub->CreateRun(&creating, request, &created);
  ASSERT_TRUE(status.ok()) << status.error_message();
  v1::WatchRunRequest watch;
  watch.set_run_id(created.run().run_id());
  grpc::ClientContext watching;
  watching.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  auto events = stub->WatchRun(&watching, watch);
  v1::RunEvent event;
  size_t steps = 0;
  v1::Run end;
  while (events->Read(&event)) {
    steps += event.has_step();
    if (event.has_run_finished()) end = event.run_finished();
  }
  EXPECT_EQ(end.state(), v1::RUN_STATE_SUCCEEDED) << end.ShortDebugString();
  EXPECT_EQ(steps, 2 * kNodes) << "what does not apply is not sent";
  ASSERT_EQ(end.nodes_size(), static_cast<int>(kNodes));
  for (const v1::NodeRecap& node : end.nodes()) {
    EXPECT_EQ(node.ok(), 2u) << node.node();
    EXPECT_EQ(node.skipped(), 0u) << node.node();
  }
  // The acknowledgements are still on their way to the agents when the watcher learns of the end.
  const absl::Time acknowledged_by = absl::Now() + kPatience;
  while (swarm.finished_plans() < kNodes && absl::Now() < acknowledged_by)
    absl::SleepFor(absl::Milliseconds(5));
  EXPECT_EQ(swarm.finished_plans(), kNodes);

  const uint64_t attempts = swarm.attempts();
  controller_.reset();
  Start();
  const absl::Time give_up = absl::Now() + kPatience;
  while (swarm.attempts() < attempts + kNodes && absl::Now() < give_up)
    absl::SleepFor(absl::Milliseconds(10));
  EXPECT_TRUE(swarm.AwaitGreeted(kNodes, kPatience)) << swarm.greeted();
  swarm.Stop();
}

}  // namespace
}  // namespace muster::controller
