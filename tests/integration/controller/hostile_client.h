// A node under an attacker's control, and what it says.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "muster/v1/agent_session.grpc.pb.h"
#include "tests/fixtures/healthy_node.h"

namespace muster::controller {

// Everything nasty in one text.
inline constexpr char kPoison[] =
    "x\nHealthCheckProgram=/tmp/evil\r\nProlog=/tmp/evil\nNodeName=c003 \"q\" 'a' \\ "
    "\x1b[2J\x1b]52;c;ZXZpbA==\x07\xc2\x9b"
    "31m\xe2\x80\xae</pre><script>alert(1)</script>"
    "{{ 7 * 191 }}{% for x in range(9) %}";
// The part of it that an attacker who knows the rules can use: a line of text.
inline constexpr char kSlyPoison[] =
    "x Prolog=/tmp/evil \"q\" 'a' \\ </pre><script>alert(1)</script>{{ 7 * 191 }}{% raw %}";

inline v1::Facts HonestFacts(int gpus) {
  v1::Facts facts = testing::HealthyNode(gpus);
  facts.mutable_cgroup()->set_version(2);
  for (const char* name : {"cpu", "cpuset", "memory"})
    facts.mutable_cgroup()->add_controllers(name);
  facts.mutable_cgroup()->set_usable_by_slurm(true);
  return facts;
}

// A client with a node's certificate. It reports the facts that it is given, and answers requests
// to Slurm with poison.
class HostileClient {
 public:
  HostileClient(const std::shared_ptr<grpc::Channel>& channel, v1::Facts facts)
      : stub_(v1::AgentSessionService::NewStub(channel)), facts_(std::move(facts)) {
    stream_ = stub_->Connect(&context_);
    v1::AgentMessage hello;
    hello.mutable_hello()->set_boot_id("boot");
    stream_->Write(hello);
    v1::AgentMessage unasked;
    *unasked.mutable_facts()->mutable_facts() = facts_;
    stream_->Write(unasked);
    heart_ = std::thread([this] {
      v1::AgentMessage beat;
      beat.mutable_heartbeat()->set_uptime_s(1);
      while (!ending_) {
        Say(beat);
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
    });
    ears_ = std::thread([this] { Listen(); });
  }
  ~HostileClient() { End(); }

  // How the controller ended the stream, or that we ended it.
  grpc::Status End() {
    if (!heart_.joinable()) return status_;
    ending_ = true;
    context_.TryCancel();
    heart_.join();
    ears_.join();
    status_ = stream_->Finish();
    return status_;
  }
  grpc::Status AwaitEnd() {
    ears_.join();
    ending_ = true;
    heart_.join();
    return status_ = stream_->Finish();
  }

  // The facts that it reports when it is asked from now on.
  void SetFacts(const v1::Facts& facts) {
    absl::MutexLock lock(&mutex_);
    facts_ = facts;
  }
  void Say(const v1::AgentMessage& message) {
    absl::MutexLock lock(&writing_);
    stream_->Write(message);
  }
  // The next plan or check that it gets.
  v1::ControllerMessage Next() {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [this] {
      mutex_.AssertHeld();
      return !received_.empty();
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&is_there), absl::Seconds(60))) return {};
    v1::ControllerMessage message = received_.front();
    received_.pop_front();
    return message;
  }

 private:
  void Listen() {
    v1::ControllerMessage message;
    while (stream_->Read(&message)) {
      if (message.has_gather_facts()) {
        v1::AgentMessage facts;
        facts.mutable_facts()->set_request_id(message.gather_facts().request_id());
        {
          absl::MutexLock lock(&mutex_);
          *facts.mutable_facts()->mutable_facts() = facts_;
        }
        Say(facts);
      } else if (message.has_slurm_request()) {
        Say(SlurmsAnswer(message.slurm_request()));
      } else if (message.has_plan() || message.has_start_check() || message.has_reboot_answer()) {
        absl::MutexLock lock(&mutex_);
        received_.push_back(message);
      }
    }
  }
  static v1::AgentMessage SlurmsAnswer(const v1::SlurmRequest& request) {
    v1::AgentMessage message;
    v1::SlurmAnswer& answer = *message.mutable_slurm_answer();
    answer.set_request_id(request.request_id());
    if (request.has_list_nodes()) {
      for (const char* name : {"c001", "c002", "c003"}) {
        v1::SlurmNode& node = *answer.mutable_nodes()->add_nodes();
        node.set_name(name);
        node.set_state(kPoison);
        node.set_is_drained(true);
        node.set_is_held(true);
        node.set_reason(kPoison);
        node.set_reason_user(kPoison);
      }
    } else if (request.has_list_jobs()) {
      v1::SlurmNodeJobs& node = *answer.mutable_jobs()->add_nodes();
      node.set_node("c003");
      v1::SlurmJobInfo& job = *node.add_jobs();
      job.set_id(kPoison);
      job.set_user(kPoison);
      job.set_name(kPoison);
    } else {
      answer.mutable_changed();
    }
    return message;
  }

  std::unique_ptr<v1::AgentSessionService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::ControllerMessage>> stream_;
  absl::Mutex writing_;
  absl::Mutex mutex_;
  v1::Facts facts_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::ControllerMessage> received_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  grpc::Status status_;
  std::thread heart_;
  std::thread ears_;
};

}  // namespace muster::controller
