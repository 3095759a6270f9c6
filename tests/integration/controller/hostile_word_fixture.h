// A controller with the shipped playbooks, for nodes that send hostile texts; and what its answers,
// files and logs must look like nevertheless.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/render/output.h"
#include "common/base/status.h"
#include "common/base/text/plain_text.h"
#include "common/sys/archive/archive.h"
#include "common/value/proto_value.h"
#include "controller/artifact/blob_store.h"
#include "controller/log.h"
#include "muster/v1/event.grpc.pb.h"
#include "muster/v1/node.grpc.pb.h"
#include "muster/v1/run.grpc.pb.h"
#include "tests/fixtures/test_controller.h"
#include "tests/integration/controller/hostile_client.h"

namespace muster::controller {

// Beginnings that no line of slurm.conf, gres.conf or hosts may have, and text that no template may
// evaluate.
inline void ExpectClean(const std::string& file, const std::string& content) {
  ASSERT_NE(content, "") << file;
  for (const absl::string_view line : absl::StrSplit(content, '\n')) {
    for (const char* word : {"HealthCheckProgram", "Prolog=", "alert(1)", "evil", "1337"})
      EXPECT_FALSE(absl::StrContains(line, word)) << file << ": " << line;
  }
  EXPECT_TRUE(IsPlain(content, Lines::kMany)) << file;
}

// Each text in the answers to people is plain: then it is harmless on a terminal, in JSON and in
// the log, too.
inline void ExpectPlain(const google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      if (field->type() == google::protobuf::FieldDescriptor::TYPE_STRING) {
        const std::string text = field->is_repeated()
                                     ? reflection.GetRepeatedString(message, field, i)
                                     : reflection.GetString(message, field);
        EXPECT_TRUE(IsPlain(text, Lines::kMany)) << field->full_name() << ": " << text;
      } else if (field->message_type() != nullptr) {
        ExpectPlain(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                         : reflection.GetMessage(message, field));
      }
    }
  }
}

// Also the forms of the answer for programs.
inline void ExpectPlainAnswer(const google::protobuf::Message& message) {
  ExpectPlain(message);
  const std::string json = cli::Format(ProtoToValue(message), cli::OutputFormat::kJson);
  EXPECT_TRUE(nlohmann::json::accept(json));
  EXPECT_TRUE(IsPlain(json, Lines::kMany));
  EXPECT_TRUE(IsPlain(cli::Format(ProtoToValue(message), cli::OutputFormat::kYaml), Lines::kMany));
}

class HostileWordTest : public ControllerFixture {
 protected:
  static void SetUpTestSuite() {
    ASSERT_TRUE(HardenTls().ok());
    unsetenv("JOURNAL_STREAM");
    StartLog();  // to standard error, which the tests examine
  }

  void SetUp() override {
    ControllerFixture::SetUp();
    controller_.reset();
    config_.slurm_gate = "on";
    StoreInventory(
        "cluster: test\nnodes:\n  login1: {role: login, address: 10.0.0.1}\n"
        "  \"c[001-003]\": {role: compute}\n",
        2);
    {
      const std::unique_ptr<Store> store =
          OpenStore(config_.state_directory + "/muster.db").value();
      ASSERT_OK(store->Update([&](Transaction& txn) -> absl::Status {
        for (const char* name : {"login1", "c001", "c002", "c003"}) {
          NodeRecord node;
          node.uuid = uuids_[name] = NewUuid();
          node.name = name;
          node.state = NodeRecord::kConfigured;
          RETURN_IF_ERROR(txn.nodes().Put(node));
          if (node.name == "c001" || node.name == "c003") {
            RETURN_IF_ERROR(txn.nodes().PutFacts(node.uuid, HonestFacts(2).SerializeAsString()));
          }
        }
        return absl::OkStatus();
      }));
    }
    Start();
  }

  std::unique_ptr<HostileClient> As(const std::string& node, v1::Facts facts) {
    return std::make_unique<HostileClient>(
        Connect(controller_->port(), Issue(Role::kNode, uuids_.at(node))), std::move(facts));
  }
  std::shared_ptr<grpc::Channel> Admin() {
    return Connect(controller_->port(), Issue(Role::kAdmin, "alice"));
  }

  // Asks the node for its facts; "" or why that failed. Its stream is accepted a moment after it
  // began.
  std::string Refresh(v1::NodeService::Stub& stub, v1::Facts* facts = nullptr) {
    std::string why = RefreshNow(stub, facts);
    for (int i = 0; i < 200 && absl::StrContains(why, "not connected"); ++i) {
      absl::SleepFor(absl::Milliseconds(50));
      why = RefreshNow(stub, facts);
    }
    return why;
  }
  static std::string RefreshNow(v1::NodeService::Stub& stub, v1::Facts* facts) {
    grpc::ClientContext context;
    v1::GetNodeFactsRequest request;
    request.set_name("c002");
    request.set_refresh(true);
    v1::GetNodeFactsResponse response;
    const grpc::Status status = stub.GetNodeFacts(&context, request, &response);
    if (facts != nullptr) *facts = response.facts();
    return status.ok() ? "" : status.error_message();
  }
  v1::Node Show(v1::NodeService::Stub& stub, const std::string& name) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_name(name);
    v1::GetNodeResponse response;
    EXPECT_TRUE(stub.GetNode(&context, request, &response).ok());
    ExpectPlainAnswer(response);
    return response.node();
  }

  // Also a suite that needs no hardware.
  std::string KeepSite() {
    std::map<std::string, std::string> site;
    for (const auto& entry : std::filesystem::recursive_directory_iterator("playbooks")) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      site[entry.path().string()] =
          std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    }
    site["playbooks/suites/count.yaml"] =
        "name: count\ndescription: what is there\nadmits: true\nstages:\n"
        "  - {name: first, checks: [{check: gpu-inventory, time_limit: 60s}]}\n";
    const std::string bundle = sys::PackTarGz(site).value();
    return DiskBlobStore::Open(config_.state_directory + "/blobs").value()->Put(bundle).value();
  }

  std::string StartRun(v1::RunService::Stub& stub, const std::string& bundle,
                       const std::string& limit) {
    v1::CreateRunRequest request;
    request.set_bundle_sha256(bundle);
    request.set_playbook("playbooks/site.yaml");
    request.set_limit(limit);
    request.set_skip_validation(true);
    v1::CreateRunResponse response;
    grpc::ClientContext context;
    const grpc::Status status = stub.CreateRun(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.run().run_id();
  }

  static std::string ContentOf(const v1::Plan& plan, const std::string& path) {
    for (const v1::RolePlan& role : plan.roles()) {
      for (const v1::Step& step : role.steps()) {
        if (step.file().path() == path) return step.file().content();
      }
    }
    return "";
  }
  static void Accept(HostileClient& client, const v1::Plan& plan) {
    v1::AgentMessage receipt;
    receipt.mutable_plan_receipt()->set_plan_id(plan.plan_id());
    receipt.mutable_plan_receipt()->set_accepted(true);
    client.Say(receipt);
  }
  static void ComeThrough(HostileClient& client, const v1::Plan& plan) {
    Accept(client, plan);
    v1::AgentMessage end;
    v1::Report& report = *end.mutable_reports()->add_reports();
    report.set_report_sequence(1);
    report.set_plan_id(plan.plan_id());
    report.mutable_outcome()->set_succeeded(true);
    client.Say(end);
  }

  void ExpectPlainAuditLog() {
    grpc::ClientContext context;
    v1::ListEventsRequest request;
    request.set_limit(500);
    v1::ListEventsResponse response;
    ASSERT_TRUE(v1::EventService::NewStub(Admin())->ListEvents(&context, request, &response).ok());
    for (const v1::Event& event : response.events()) {
      for (const std::string& text : {event.actor(), event.subject(), event.detail()})
        EXPECT_TRUE(IsPlain(text, Lines::kOne)) << text;
    }
    ExpectPlainAnswer(response);
  }

  std::map<std::string, std::string> uuids_;
};

}  // namespace muster::controller
