// The agent beside slurmctld lies about Slurm. It is heard out, in frames of a length byte pair and
// an answer; only requested data is accepted, and nobody waits for ever.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "common/base/clock.h"
#include "common/base/text/plain_text.h"
#include "controller/slurm/agent_slurm_control.h"
#include "muster/v1/agent_session.pb.h"
#include "tests/fuzz/fuzz_target.h"

namespace muster::controller::slurm {
namespace {

// All waits time out at once.
class ImpatientClock final : public Clock {
 public:
  absl::Time Now() override { return absl::UnixEpoch(); }
  bool AwaitUntil(absl::Mutex&, const absl::Condition& condition, absl::Time) override {
    return condition.Eval();
  }
  void Sleep(absl::Duration) override {}
};

// Every request is answered with the next frame; after the last there is silence.
class LyingAgent final : public AgentSessions {
 public:
  explicit LyingAgent(absl::string_view frames) : frames_(frames) {}

  absl::Status Send(absl::string_view node_uuid, const v1::ControllerMessage& message) override {
    ++requests;
    if (frames_.size() <= 2) return absl::OkStatus();
    const size_t length = static_cast<uint8_t>(frames_[0]) * 256 + static_cast<uint8_t>(frames_[1]);
    const absl::string_view frame = frames_.substr(2, length);
    frames_.remove_prefix(2 + frame.size());
    v1::SlurmAnswer answer;
    if (!answer.ParseFromArray(frame.data(), static_cast<int>(frame.size()))) {
      on_cut(std::string(node_uuid));
      return absl::OkStatus();
    }
    // Request ids are random: "own" stands for the waiting one.
    if (answer.request_id() == "own") {
      answer.set_request_id(message.slurm_request().request_id());
    }
    on_answer(std::string(node_uuid), answer);
    return absl::OkStatus();
  }
  absl::Status SendPlan(absl::string_view, std::shared_ptr<const std::string>) override {
    return absl::UnimplementedError("nobody sends plans here");
  }
  bool IsConnected(absl::string_view) const override { return true; }
  std::vector<AgentSessionInfo> List() const override { return {}; }
  void Disconnect(absl::string_view, const absl::Status&) override {}

  int requests = 0;
  std::function<void(const std::string& uuid)> on_cut;
  std::function<void(const std::string& uuid, const v1::SlurmAnswer& answer)> on_answer;

 private:
  absl::string_view frames_;
};

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckNodes(const std::vector<SlurmNode>& nodes) {
  std::string before;
  for (const SlurmNode& node : nodes) {
    Check(node.name > before);
    Check(!node.is_drained || (!node.takes_jobs && node.is_held));
    const std::optional<std::string> owner = OwnerOf(node.reason);
    Check(!owner.has_value() || (!owner->empty() && owner->find(' ') == std::string::npos));
    before = node.name;
  }
}

void CheckLeft(const LeftAlone& left) {
  for (const auto& [node, why] : left) Check(node == "c001" || node == "c002");
}

void Listen(absl::string_view frames) {
  LyingAgent agent(frames);
  ImpatientClock clock;
  AgentSlurmControl control(
      agent, clock,
      [] {
        return SlurmctldPlace{"login1", "ul"};
      },
      [] {});
  agent.on_cut = [&](const std::string& uuid) { control.OnDisconnected(uuid); };
  agent.on_answer = [&](const std::string& uuid, const v1::SlurmAnswer& answer) {
    control.OnSlurmAnswer(uuid, answer);
  };
  const std::vector<NodeChange> changes = {{"c001", ""}, {"c002", "muster:gate not validated"}};
  // Data that one call leaves unread goes to the next.
  const auto nodes = control.Nodes();
  if (nodes.ok()) CheckNodes(*nodes);
  const auto jobs = control.JobsOn({"c001", "c002"});
  if (jobs.ok()) {
    for (const auto& [node, of_node] : *jobs) {
      Check((node == "c001" || node == "c002") && !of_node.empty());
    }
    Check(IsPlain(DescribeWhere(*jobs), Lines::kOne));
  }
  if (const auto left = control.Drain(changes, OwnReason("v-1", "x")); left.ok()) CheckLeft(*left);
  if (const auto left = control.Undrain(changes); left.ok()) CheckLeft(*left);
  if (const auto left = control.Requeue({{"12", "c001"}, {"13_4", "c002"}}); left.ok()) {
    for (const auto& [job, why] : *left) Check(job == "12" || job == "13_4");
  }
  // As many parts of a list as fit, and one for each of the other requests.
  Check(agent.requests <= 64 + 4);
}

}  // namespace
}  // namespace muster::controller::slurm

FUZZ_TARGET(slurm_answer, data, size) {
  // Otherwise a line for each text that is not UTF-8 would hide everything else.
  const google::protobuf::LogSilencer silencer;
  muster::controller::slurm::Listen(absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
