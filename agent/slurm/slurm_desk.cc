#include "agent/slurm/slurm_desk.h"

#include <utility>

#include "absl/status/status.h"

namespace muster::agent {

SlurmDesk::SlurmDesk(std::function<v1::SlurmAnswer(const v1::SlurmRequest&)> answer,
                     std::function<void()> wake)
    : answer_(std::move(answer)), wake_(std::move(wake)) {
  thread_ = std::thread([this] { Loop(); });
}

SlurmDesk::~SlurmDesk() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void SlurmDesk::Start(v1::SlurmRequest request) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMaxWaiting) {
      waiting_.push_back(std::move(request));
      return;
    }
    v1::SlurmAnswer& refusal = *due_.emplace_back().mutable_slurm_answer();
    refusal.set_request_id(request.request_id());
    refusal.set_code(static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
    refusal.set_message("too many requests to Slurm wait");
  }
  wake_();
}

void SlurmDesk::OnConnected() {
  absl::MutexLock lock(&mutex_);
  ++connection_;
  waiting_.clear();
  due_.clear();
}

std::vector<v1::AgentMessage> SlurmDesk::TakeDue() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(due_, {});
}

void SlurmDesk::Loop() {
  for (;;) {
    v1::SlurmRequest request;
    uint64_t connection = 0;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &SlurmDesk::HasWork));
      if (stopping_) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
      connection = connection_;
    }
    v1::SlurmAnswer answer = answer_(request);
    {
      absl::MutexLock lock(&mutex_);
      if (connection != connection_) continue;
      *due_.emplace_back().mutable_slurm_answer() = std::move(answer);
    }
    wake_();
  }
}

}  // namespace muster::agent
