#include "absl/cleanup/cleanup.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "controller/enrollment/identity.h"
#include "controller/metrics/call_durations.h"
#include "controller/service/front/call_gate.h"
#include "controller/service/front/call_shares.h"
#include "controller/web/collaborators.h"

namespace muster::controller {

absl::StatusOr<std::string> CallInPlace(const WebCollaborators& with, const Identity& identity,
                                        absl::string_view rpc,
                                        absl::FunctionRef<absl::StatusOr<std::string>()> call) {
  const absl::Time began_at = with.clock.Now();
  const CallKind kind = KindOf(rpc);
  RETURN_IF_ERROR(AdmitCall(identity, rpc, "", with.denylist, began_at, with.shares, kind));
  with.shares.Begin(identity.name, kind);
  const auto end = absl::MakeCleanup([&] { with.shares.End(identity.name, kind); });
  absl::StatusOr<std::string> answer = call();
  with.durations.Add(rpc, with.clock.Now() - began_at,
                     absl::StatusCodeToString(answer.status().code()));
  return answer;
}

}  // namespace muster::controller
