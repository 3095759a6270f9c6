#include "agent/slurm/slurm_requests.h"

#include <utility>

#include "absl/status/status.h"

namespace muster::agent {

SlurmRequests::SlurmRequests(std::function<v1::SlurmAnswer(const v1::SlurmRequest&)> answer,
                             std::function<void()> wake, Clock& clock)
    : answer_(std::move(answer)),
      wake_(std::move(wake)),
      worker_(clock, [this] { return Step(); }) {
  worker_.Start();
}

void SlurmRequests::Start(v1::SlurmRequest request) {
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.size() < kMaxWaiting) {
      waiting_.push_back(std::move(request));
      worker_.Wake();
      return;
    }
    v1::SlurmAnswer& refusal = *due_.emplace_back().mutable_slurm_answer();
    refusal.set_request_id(request.request_id());
    refusal.set_code(static_cast<uint32_t>(absl::StatusCode::kResourceExhausted));
    refusal.set_message("too many requests to Slurm are waiting");
  }
  wake_();
}

void SlurmRequests::OnConnected() {
  absl::MutexLock lock(&mutex_);
  ++connection_;
  waiting_.clear();
  due_.clear();
}

std::vector<v1::AgentMessage> SlurmRequests::TakeDue() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(due_, {});
}

absl::Time SlurmRequests::Step() {
  v1::SlurmRequest request;
  uint64_t connection = 0;
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.empty()) return absl::InfiniteFuture();
    request = std::move(waiting_.front());
    waiting_.pop_front();
    connection = connection_;
  }
  v1::SlurmAnswer answer = answer_(request);
  {
    absl::MutexLock lock(&mutex_);
    if (connection != connection_) return absl::InfinitePast();
    *due_.emplace_back().mutable_slurm_answer() = std::move(answer);
  }
  wake_();
  return absl::InfinitePast();
}

}  // namespace muster::agent
