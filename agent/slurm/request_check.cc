#include "agent/slurm/request_check.h"

#include <algorithm>
#include <string>

#include <google/protobuf/repeated_field.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/slurm/node_listing.h"
#include "common/base/status.h"
#include "common/base/text/slurm_job.h"

namespace muster::agent {
namespace {

constexpr int kMaxCount = 512;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxReason = 255;
constexpr size_t kMaxRequestId = 64;

// No brackets and no commas: they would name several nodes. "ALL" is every node to scontrol.
absl::Status CheckName(const std::string& name) {
  const bool is_name = !name.empty() && name.size() <= kMaxName &&
                       !absl::EqualsIgnoreCase(name, "all") && absl::ascii_isalnum(name.front()) &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
                       });
  if (is_name) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", name, "' is not the name of a node"));
}

absl::Status CheckReason(const std::string& reason) {
  if (!absl::StartsWith(reason, kOwnReasonPrefix)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", reason, "' does not begin with ", kOwnReasonPrefix));
  }
  if (reason.size() > kMaxReason) return absl::InvalidArgumentError("the reason is too long");
  // scontrol interprets quotation marks itself.
  if (std::any_of(reason.begin(), reason.end(),
                  [](char c) { return absl::ascii_iscntrl(c) || c == '"' || c == '\''; })) {
    return absl::InvalidArgumentError("the reason contains characters that Slurm cannot store");
  }
  return absl::OkStatus();
}

absl::Status CheckCount(int count, absl::string_view things = "nodes") {
  if (count > 0 && count <= kMaxCount) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(count, " ", things, "; 1 to ", kMaxCount));
}

// One job: scontrol would take a list, or "all", too.
absl::Status CheckJobId(const std::string& id) {
  if (IsJobId(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", id, "' is not the id of a job"));
}

absl::Status CheckChanges(const google::protobuf::RepeatedPtrField<v1::SlurmNodeChange>& changes,
                          bool needs_expected) {
  RETURN_IF_ERROR(CheckCount(changes.size()));
  for (const v1::SlurmNodeChange& change : changes) {
    RETURN_IF_ERROR(CheckName(change.node()));
    if (!needs_expected && change.expected_reason().empty()) continue;
    RETURN_IF_ERROR(CheckReason(change.expected_reason()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSlurmRequest(const v1::SlurmRequest& request) {
  if (request.request_id().empty() || request.request_id().size() > kMaxRequestId) {
    return absl::InvalidArgumentError("a request without an id");
  }
  switch (request.request_case()) {
    case v1::SlurmRequest::kListNodes:
      return absl::OkStatus();
    case v1::SlurmRequest::kDrain:
      RETURN_IF_ERROR(CheckReason(request.drain().reason()));
      return CheckChanges(request.drain().nodes(), /*needs_expected=*/false);
    case v1::SlurmRequest::kUndrain:
      return CheckChanges(request.undrain().nodes(), /*needs_expected=*/true);
    case v1::SlurmRequest::kListJobs:
      RETURN_IF_ERROR(CheckCount(request.list_jobs().nodes_size()));
      for (const std::string& node : request.list_jobs().nodes()) RETURN_IF_ERROR(CheckName(node));
      return absl::OkStatus();
    case v1::SlurmRequest::kRequeueJobs:
      RETURN_IF_ERROR(CheckCount(request.requeue_jobs().jobs_size(), "jobs"));
      for (const v1::SlurmJobOnNode& job : request.requeue_jobs().jobs()) {
        RETURN_IF_ERROR(CheckJobId(job.id()));
        RETURN_IF_ERROR(CheckName(job.node()));
      }
      return absl::OkStatus();
    case v1::SlurmRequest::REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "a request that this agent does not know; is the agent older than the controller?");
}

}  // namespace muster::agent
