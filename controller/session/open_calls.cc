#include "controller/session/open_calls.h"

#include <grpcpp/server_context.h>

#include "common/base/clock.h"
#include "controller/enrollment/denylist.h"

namespace muster::controller {

void OpenCalls::Sweep() {
  const absl::Time now = clock_.Now();
  absl::MutexLock lock(&mutex_);
  for (const auto& [id, call] : calls_) {
    const absl::Status standing = CheckStanding(call.identity, denylist_, now);
    if (!standing.ok()) call.end(standing);
  }
}

OpenCalls::Entry OpenCalls::Add(Identity identity, End end) {
  absl::MutexLock lock(&mutex_);
  const uint64_t id = ++last_id_;
  calls_.emplace(id, Call{std::move(identity), std::move(end)});
  return Entry(this, id);
}

OpenCalls::Entry OpenCalls::Add(Identity identity, grpc::ServerContextBase* context) {
  return Add(std::move(identity), [context](const absl::Status&) { context->TryCancel(); });
}

void OpenCalls::Remove(uint64_t id) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(id);
}

}  // namespace muster::controller
