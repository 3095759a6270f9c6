#include "controller/service/front/request_rules.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/enrollment/enrollment.h"
#include "muster/v1/enrollment.pb.h"
#include "muster/v1/node.pb.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxReasonBytes = 1024;

}  // namespace

absl::StatusOr<std::vector<std::string>> NodeNames(absl::string_view hostlist) {
  absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(hostlist);
  if (!names.ok()) return Annotate(names.status(), "nodes");
  if (names->empty()) return absl::InvalidArgumentError("nodes: specify at least one node");
  return names;
}

absl::StatusOr<absl::Duration> TokenTtl(const v1::CreateTokenRequest& request) {
  if (!request.has_ttl()) return Enrollment::kDefaultTtl;
  const absl::Duration ttl = ToDuration(request.ttl());
  if (ttl <= absl::ZeroDuration() || ttl > Enrollment::kMaxTtl)
    return absl::InvalidArgumentError("ttl: must be above 0 and at most 7 days (168h)");
  return ttl;
}

absl::Status Validate(const v1::RemoveNodeRequest& request) {
  if (absl::StripAsciiWhitespace(request.reason()).empty())
    return absl::InvalidArgumentError("reason: specify a reason; it goes into the audit log");
  if (request.reason().size() > kMaxReasonBytes)
    return absl::InvalidArgumentError("reason: at most 1024 bytes");
  return absl::OkStatus();
}

}  // namespace muster::controller
