// An enrolled node that lies. Whatever it sends, in frames of a length byte pair and a message, the
// controller survives, and another node's part of the run remains that node's.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "controller/session/facts_round.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/unit/controller/run/run_fixture.h"

namespace muster::controller {
namespace {

class Harness final : public RunFixture {
 public:
  void TestBody() override {}

  void Run(absl::string_view frames) {
    SetUp();
    Connect("a");
    Connect("b");
    const v1::Run run = MustCreate("one.yaml");
    own_ = MustTakePlan("a").plan_id();
    other_ = MustTakePlan("b").plan_id();
    for (int i = 0; i < 64 && frames.size() > 2; ++i) {
      const size_t length = static_cast<uint8_t>(frames[0]) * 256 + static_cast<uint8_t>(frames[1]);
      v1::AgentMessage message;
      const absl::string_view frame = frames.substr(2, length);
      frames.remove_prefix(2 + frame.size());
      if (message.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) Say(message);
      engine_->Tick();
    }
    if (StateOf(run.run_id(), "b") != "running ok=0 changed=0 failed=0") std::abort();
    Restart();
    Connect("b", other_);
    Complete("b", other_);
    if (StateOf(run.run_id(), "b") != "done ok=0 changed=1 failed=0") std::abort();
  }

 private:
  // Plan ids are random: "own" and "other" stand for this node's and the honest one's.
  void Name(std::string* plan_id) const {
    if (*plan_id == "own") *plan_id = own_;
    if (*plan_id == "other") *plan_id = other_;
  }

  void Say(v1::AgentMessage& message) {
    switch (message.message_case()) {
      case v1::AgentMessage::kHello:
        Name(message.mutable_hello()->mutable_active_plan_id());
        return engine_->OnConnected("ua", message.hello());
      case v1::AgentMessage::kFacts:
        // The plan's id alone, or as a whole request has it.
        engine_->OnFacts("ua", message.facts().request_id());
        if (const auto request = ParseFactsRequest(message.facts().request_id()))
          engine_->OnFacts("ua", request->id);
        return;
      case v1::AgentMessage::kPlanReceipt:
        Name(message.mutable_plan_receipt()->mutable_plan_id());
        return engine_->OnPlanReceipt("ua", message.plan_receipt());
      case v1::AgentMessage::kReports: {
        std::vector<NodeReport> reports;
        for (v1::Report& report : *message.mutable_reports()->mutable_reports()) {
          Name(report.mutable_plan_id());
          reports.push_back({"ua", std::make_shared<const v1::Report>(report)});
        }
        return engine_->OnReports(std::move(reports));
      }
      case v1::AgentMessage::kProgress:
        Name(message.mutable_progress()->mutable_plan_id());
        return engine_->OnProgress("ua", message.progress());
      default:
        return;
    }
  }

  std::string own_;
  std::string other_;
};

}  // namespace
}  // namespace muster::controller

FUZZ_TARGET(agent_message, data, size) {
  // Otherwise a line for each text that is not UTF-8 would hide everything else.
  const google::protobuf::LogSilencer silencer;
  muster::controller::Harness harness;
  harness.Run(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
