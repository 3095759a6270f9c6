#include "agent/session/disk_order.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/session/channel.h"
#include "agent/session/pinned_ca.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/join_word.h"
#include "muster/v1/enrollment.grpc.pb.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kOrderTimeout = absl::Seconds(10);
// The controller may be restarting, and this machine's network may take a while.
constexpr int kOrderAttempts = 20;
constexpr absl::Duration kOrderPause = absl::Seconds(10);

DiskOrder::File FileOf(const v1::DiskFile& file) {
  return {.path = file.path(), .sha256 = file.sha256(), .bytes = file.size_bytes()};
}

absl::StatusOr<DiskOrder> AskOnce(const JoinWord& join, const DiskQuestion& question,
                                  Clock& clock) {
  ASSIGN_OR_RETURN(const std::string ca,
                   FetchPinnedCa(join.enrollment, join.ca_pin, kOrderTimeout));
  const auto stub = v1::EnrollmentService::NewStub(OpenEnrollmentChannel(join.enrollment, ca));
  v1::GetDiskOrderRequest request;
  request.mutable_macs()->Assign(question.macs.begin(), question.macs.end());
  request.set_root_sha256(question.root_sha256);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(clock.Now() + kOrderTimeout));
  v1::GetDiskOrderResponse response;
  RETURN_IF_ERROR(Annotate(FromGrpc(stub->GetDiskOrder(&context, request, &response)),
                           absl::StrCat("asking ", join.enrollment, " about the disk")));
  return DiskOrder{.image = response.image(),
                   .device = response.device(),
                   .node = response.node(),
                   .loader = FileOf(response.loader()),
                   .kernel = FileOf(response.kernel())};
}

}  // namespace

absl::StatusOr<DiskOrder> AskForDiskOrder(const JoinWord& join, const DiskQuestion& question,
                                          Clock& clock,
                                          const std::function<void(absl::string_view)>& say) {
  for (int again = 1;; ++again) {
    absl::StatusOr<DiskOrder> order = AskOnce(join, question, clock);
    const bool is_away =
        absl::IsUnavailable(order.status()) || absl::IsDeadlineExceeded(order.status());
    if (!is_away || again == kOrderAttempts) return order;
    say(absl::StrCat(order.status().message(), "; asking again"));
    clock.Sleep(kOrderPause);
  }
}

}  // namespace muster::agent
