#include "controller/session/open_calls.h"

#include <grpcpp/server_context.h>

#include "common/base/clock.h"
#include "controller/enrollment/denylist.h"

namespace muster::controller {

void OpenCalls::Sweep() {
  const absl::Time now = clock_.Now();
  const uint64_t generation = denylist_.generation();
  absl::MutexLock lock(&mutex_);
  for (auto& [id, call] : calls_) {
    if (call.checked == generation && now <= call.identity.expires_at) continue;
    const absl::Status standing = CheckStanding(call.identity, denylist_, now);
    if (standing.ok()) {
      call.checked = generation;
    } else {
      call.end(standing);
    }
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
