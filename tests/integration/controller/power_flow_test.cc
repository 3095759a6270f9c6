// `muster power` from a person's call to a BMC and back, over both wires.
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/sys/boot_id.h"
#include "common/sys/file_system.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/power.grpc.pb.h"
#include "muster/v1/secret.grpc.pb.h"
#include "tests/fakes/servers/redfish_server.h"
#include "tests/fixtures/golden_texts.h"
#include "tests/fixtures/test_controller.h"

namespace muster::controller {
namespace {

using ::muster::testing::RedfishFault;
using ::muster::testing::RedfishServer;
using ::muster::testing::Said;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kPassword[] = "correct horse battery";

class PowerFlowTest : public ControllerFixture {
 protected:
  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    StoreInventory(
        absl::StrCat("cluster: test\nnodes:\n  c001: {role: compute, bmc_address: "
                     "127.0.0.1}\n  c002: {role: compute}\nvars: {bmc_protocol: redfish, "
                     "bmc_user: muster, bmc_password_secret: bmc, bmc_port: ",
                     bmc_.port(), ", bmc_certificate: \"sha256:", bmc_.pin(), "\"}\n"),
        2);
    Start();
  }
  void SetPassword(const std::string& role) {
    v1::SetSecretRequest request;
    request.set_name("bmc");
    request.set_value(kPassword);
    request.add_roles(role);
    v1::SetSecretResponse response;
    grpc::ClientContext context;
    const auto stub =
        v1::SecretService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "ann")));
    const grpc::Status set = stub->SetSecret(&context, request, &response);
    ASSERT_TRUE(set.ok()) << set.error_message();
  }
  std::unique_ptr<v1::PowerService::Stub> As(Role role) {
    return v1::PowerService::NewStub(Connect(controller_->port(), Issue(role, "ann")));
  }
  static v1::ChangePowerRequest Request(v1::PowerVerb verb, const std::string& nodes) {
    v1::ChangePowerRequest request;
    request.set_nodes(nodes);
    request.set_verb(verb);
    return request;
  }
  grpc::Status Drain(grpc::ClientReader<v1::PowerEvent>& stream) {
    v1::PowerEvent event;
    last_.clear();
    while (stream.Read(&event)) {
      if (event.has_node()) last_[event.node().node()] = event.node();
    }
    return stream.Finish();
  }
  grpc::Status Change(Role role, const v1::ChangePowerRequest& request) {
    grpc::ClientContext context;
    const auto stub = As(role);
    return Drain(*stub->ChangePower(&context, request));
  }
  grpc::Status Read(Role role, const std::string& nodes) {
    grpc::ClientContext context;
    v1::ReadPowerRequest request;
    request.set_nodes(nodes);
    const auto stub = As(role);
    return Drain(*stub->ReadPower(&context, request));
  }
  std::vector<v1::Event> Audited() {
    v1::ListEventsResponse response;
    grpc::ClientContext context;
    const auto stub =
        v1::EventService::NewStub(Connect(controller_->port(), Issue(Role::kAdmin, "ann")));
    EXPECT_TRUE(stub->ListEvents(&context, {}, &response).ok());
    std::vector<v1::Event> events;
    for (const v1::Event& event : response.events()) {
      if (absl::StartsWith(event.action(), "power.")) events.push_back(event);
    }
    return events;
  }

  RedfishServer bmc_{"muster", kPassword};
  std::map<std::string, v1::NodePower> last_;  // the last word about each node
};

TEST_F(PowerFlowTest, FromTheCallToTheMachine) {
  SetPassword("power");
  v1::ChangePowerRequest request = Request(v1::POWER_VERB_ON, "c001");
  request.set_boot_once(v1::BOOT_DEVICE_PXE);
  request.set_reason("reinstall");
  grpc::Status status = Change(Role::kOperator, request);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(last_["c001"].step(), v1::POWER_STEP_DONE) << last_["c001"].message();
  EXPECT_EQ(last_["c001"].state(), v1::POWER_STATE_ON);
  EXPECT_THAT(bmc_.orders(), ElementsAre("boot Once Pxe", "On"));

  ASSERT_TRUE(Read(Role::kOperator, "c[001-002]").ok());
  EXPECT_EQ(last_["c001"].state(), v1::POWER_STATE_ON);
  EXPECT_EQ(last_["c002"].step(), v1::POWER_STEP_FAILED);
  EXPECT_THAT(last_["c002"].message(), Said());

  // There is no Slurm in this cluster.
  ASSERT_TRUE(Change(Role::kOperator, Request(v1::POWER_VERB_OFF, "c001")).ok());
  EXPECT_EQ(last_["c001"].state(), v1::POWER_STATE_OFF) << last_["c001"].message();
  EXPECT_FALSE(bmc_.is_on());

  const std::vector<v1::Event> events = Audited();
  ASSERT_EQ(events.size(), 4u) << "questions leave no trace";
  EXPECT_EQ(events[3].action(), "power.start");
  EXPECT_EQ(events[3].actor(), "operator:ann");
  EXPECT_EQ(events[3].subject(), "c001");
  EXPECT_THAT(events[3].detail(), HasSubstr(": on, boots once from pxe; reason: reinstall"));
  EXPECT_EQ(events[0].action(), "power.end");
  for (const v1::Event& event : events)
    EXPECT_FALSE(absl::StrContains(event.SerializeAsString(), kPassword));
}

// Nothing would be left to switch it on again, nor the others of the order.
TEST_F(PowerFlowTest, NeverSwitchesOffItsOwnMachine) {
  SetPassword("power");
  bmc_.SetOn(true);
  ASSERT_TRUE(Change(Role::kAdmin, Request(v1::POWER_VERB_RESET, "c001")).ok());
  ASSERT_EQ(last_["c001"].step(), v1::POWER_STEP_DONE) << last_["c001"].message();
  controller_.reset();
  sys::RealFileSystem files;
  NodeRecord own;
  own.uuid = "5f0c1a52-1b2c-4d3e-8f00-0123456789ab";
  own.name = "c001";
  own.state = NodeRecord::kConfigured;
  own.boot_id = *sys::ReadBootId(files);
  {
    const std::unique_ptr<Store> store = *OpenStore(config_.state_directory + "/muster.db");
    ASSERT_OK(store->Update([&](Transaction& txn) { return txn.nodes().Put(own); }));
  }
  Start();
  const size_t asked = bmc_.requests().size();
  for (const v1::PowerVerb verb :
       {v1::POWER_VERB_OFF, v1::POWER_VERB_CYCLE, v1::POWER_VERB_RESET}) {
    v1::ChangePowerRequest request = Request(verb, "all");
    request.set_force(true);
    const grpc::Status status = Change(Role::kAdmin, request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
    EXPECT_THAT(status.error_message(), Said());
  }
  EXPECT_EQ(bmc_.requests().size(), asked);
  EXPECT_THAT(bmc_.orders(), ElementsAre("ForceRestart"));
  ASSERT_TRUE(Change(Role::kAdmin, Request(v1::POWER_VERB_IDENTIFY, "c001")).ok());
  ASSERT_TRUE(Change(Role::kAdmin, Request(v1::POWER_VERB_ON, "c001")).ok());
  ASSERT_TRUE(Read(Role::kAdmin, "c001").ok());
  EXPECT_EQ(last_["c001"].state(), v1::POWER_STATE_ON) << last_["c001"].message();
}

TEST_F(PowerFlowTest, IsNotForViewersAndNodes) {
  SetPassword("power");
  EXPECT_EQ(Change(Role::kViewer, Request(v1::POWER_VERB_ON, "c001")).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(Read(Role::kViewer, "c001").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_FALSE(Change(Role::kNode, Request(v1::POWER_VERB_ON, "c001")).ok());
  EXPECT_FALSE(Read(Role::kNode, "c001").ok());
  EXPECT_THAT(bmc_.requests(), IsEmpty());
}

TEST_F(PowerFlowTest, RefusesWhatMakesNoSense) {
  v1::ChangePowerRequest soft = Request(v1::POWER_VERB_RESET, "c001");
  soft.set_soft(true);
  v1::ChangePowerRequest boot = Request(v1::POWER_VERB_OFF, "c001");
  boot.set_boot_once(v1::BOOT_DEVICE_DISK);
  v1::ChangePowerRequest reason = Request(v1::POWER_VERB_OFF, "c001");
  reason.set_reason(std::string(2000, 'x'));
  for (const v1::ChangePowerRequest& request :
       {Request(v1::POWER_VERB_UNSPECIFIED, "c001"), Request(v1::POWER_VERB_ON, ""),
        Request(static_cast<v1::PowerVerb>(77), "c001"), Request(v1::POWER_VERB_ON, "nobody"), soft,
        boot, reason}) {
    const grpc::Status status = Change(Role::kAdmin, request);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), Said());
  }
  EXPECT_THAT(Audited(), IsEmpty());
}

// A secret that is somebody else's is not sent to a BMC, whatever the inventory says.
TEST_F(PowerFlowTest, ReadsOnlyItsOwnSecrets) {
  SetPassword("slurm");
  ASSERT_TRUE(Read(Role::kAdmin, "c001").ok());
  EXPECT_EQ(last_["c001"].step(), v1::POWER_STEP_FAILED);
  EXPECT_THAT(last_["c001"].message(), Said());
  EXPECT_THAT(bmc_.requests(), IsEmpty());
}

TEST_F(PowerFlowTest, NamesABmcThatIsBroken) {
  SetPassword("power");
  bmc_.Set(RedfishFault::kServerError);
  ASSERT_TRUE(Change(Role::kAdmin, Request(v1::POWER_VERB_ON, "c001")).ok());
  EXPECT_EQ(last_["c001"].step(), v1::POWER_STEP_FAILED);
  EXPECT_THAT(last_["c001"].message(), Said());
}

}  // namespace
}  // namespace muster::controller
