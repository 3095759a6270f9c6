#include "controller/service/artifact_service.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/text_diff.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/artifact/bundle_upload.h"
#include "controller/audit/audit.h"
#include "controller/enrollment/enrollment.h"
#include "controller/playbook/words.h"
#include "controller/session/caller.h"
#include "controller/session/open_calls.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr size_t kMaxVariableName = 128;

void Convert(const BundleRecord& record, const std::vector<BundleApprovalRecord>& approvals,
             v1::Bundle& bundle) {
  bundle.set_sha256(record.sha256);
  bundle.set_size(record.size);
  *bundle.mutable_uploaded_at() = ToTimestamp(record.created_at);
  bundle.set_uploaded_by(record.uploaded_by);
  for (const BundleApprovalRecord& each : approvals) {
    if (each.sha256 != record.sha256) continue;
    v1::BundleApproval& approval = *bundle.add_approvals();
    approval.set_path(each.path);
    for (const absl::string_view name : absl::StrSplit(each.variables, ' ', absl::SkipEmpty()))
      approval.add_variables(std::string(name));
    approval.set_run_id(each.run_id);
    approval.set_approved_by(each.approved_by);
    *approval.mutable_approved_at() = ToTimestamp(each.approved_at);
    approval.set_revoked_by(each.revoked_by);
    if (each.revoked_at.has_value()) *approval.mutable_revoked_at() = ToTimestamp(*each.revoked_at);
  }
}

bool IsApproved(const v1::Bundle& bundle) {
  return std::any_of(bundle.approvals().begin(), bundle.approvals().end(),
                     [](const v1::BundleApproval& each) { return !each.has_revoked_at(); });
}

// Names of variables, as -e takes them.
absl::Status ValidateVariables(const google::protobuf::RepeatedPtrField<std::string>& names) {
  for (const std::string& name : names) {
    if (name.size() > kMaxVariableName) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a variable's name has at most ", kMaxVariableName, " characters, not ", name.size()));
    }
    const std::string wrong = playbook::CheckGivenVariable(name);
    if (!wrong.empty()) return absl::InvalidArgumentError(wrong);
  }
  return absl::OkStatus();
}

}  // namespace

grpc::Status ArtifactService::HasBundle(grpc::ServerContext*, const v1::HasBundleRequest* request,
                                        v1::HasBundleResponse* response) {
  const absl::StatusOr<bool> present = controller::HasBundle(store_, blobs_, request->sha256());
  if (present.ok()) response->set_present(*present);
  return ToGrpc(present.status());
}

grpc::Status ArtifactService::UploadBundle(grpc::ServerContext* context,
                                           grpc::ServerReader<v1::UploadBundleRequest>* reader,
                                           v1::UploadBundleResponse* response) {
  return ToGrpc(UploadBundle(*context, *reader, *response));
}

absl::Status ArtifactService::UploadBundle(grpc::ServerContext& context,
                                           grpc::ServerReader<v1::UploadBundleRequest>& reader,
                                           v1::UploadBundleResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  const OpenCalls::Entry open_call = calls_.Add(caller.identity, &context);
  v1::UploadBundleRequest part;
  if (!reader.Read(&part) || !part.has_header())
    return absl::InvalidArgumentError("an upload must begin with the bundle's header");
  const v1::BundleHeader header = part.header();
  ASSIGN_OR_RETURN(const std::unique_ptr<BundleUpload> upload,
                   BundleUpload::Begin(store_, blobs_, header.sha256(), header.size()));
  while (reader.Read(&part)) {
    if (part.part_case() != v1::UploadBundleRequest::kData)
      return absl::InvalidArgumentError("only data may follow the bundle's header");
    RETURN_IF_ERROR(upload->Append(part.data()));
  }
  if (context.IsCancelled()) return absl::CancelledError("the upload was interrupted");
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(const size_t files, upload->Finish(now, caller.identity.Actor()));
  RETURN_IF_ERROR(store_.Update([&](Transaction& txn) {
    return Audit(txn, now, caller.ToActor(), "bundle.upload", header.sha256(),
                 absl::StrCat(Counted(files, "file"), ", ", Counted(header.size(), "byte")));
  }));
  response.set_sha256(header.sha256());
  response.set_files(static_cast<uint32_t>(files));
  return absl::OkStatus();
}

grpc::Status ArtifactService::ListBundles(grpc::ServerContext*,
                                          const v1::ListBundlesRequest* request,
                                          v1::ListBundlesResponse* response) {
  return ToGrpc(ListBundles(*request, *response));
}

grpc::Status ArtifactService::GetBundle(grpc::ServerContext*, const v1::GetBundleRequest* request,
                                        v1::GetBundleResponse* response) {
  return ToGrpc(GetBundle(*request, *response));
}

grpc::Status ArtifactService::ApproveBundle(grpc::ServerContext* context,
                                            const v1::ApproveBundleRequest* request,
                                            v1::ApproveBundleResponse* response) {
  return ToGrpc(ApproveBundle(*context, *request, *response));
}

grpc::Status ArtifactService::RevokeBundle(grpc::ServerContext* context,
                                           const v1::RevokeBundleRequest* request,
                                           v1::RevokeBundleResponse* response) {
  return ToGrpc(RevokeBundle(*context, *request, *response));
}

absl::Status ArtifactService::ListBundles(const v1::ListBundlesRequest& request,
                                          v1::ListBundlesResponse& response) {
  const uint32_t limit =
      request.limit() == 0 ? kDefaultLimit : std::min(request.limit(), kMaxLimit);
  std::vector<BundleRecord> bundles;
  std::vector<BundleApprovalRecord> approvals;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(bundles, txn.bundles().List());
    ASSIGN_OR_RETURN(approvals, txn.bundle_approvals().List());
    return absl::OkStatus();
  }));
  std::sort(bundles.begin(), bundles.end(), [](const BundleRecord& a, const BundleRecord& b) {
    return a.created_at > b.created_at;
  });
  uint32_t newest = 0;
  for (const BundleRecord& record : bundles) {
    v1::Bundle bundle;
    Convert(record, approvals, bundle);
    if (newest++ < limit || (IsApproved(bundle) && response.bundles_size() < int{kMaxLimit}))
      *response.add_bundles() = std::move(bundle);
  }
  return absl::OkStatus();
}

absl::Status ArtifactService::Fill(const std::string& sha256, v1::Bundle& bundle) {
  return store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const BundleRecord record, txn.bundles().Get(sha256));
    ASSIGN_OR_RETURN(const auto approvals, txn.bundle_approvals().List(sha256));
    Convert(record, approvals, bundle);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> ArtifactService::Predecessor(const std::string& sha256) {
  std::string predecessor;
  RETURN_IF_ERROR(store_.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const auto approvals, txn.bundle_approvals().List());
    for (const BundleApprovalRecord& each : approvals) {
      if (each.revoked_at.has_value() || each.sha256 == sha256) continue;
      // The bundle of a validation has only suites: compared with it, everything would be new.
      if (absl::StartsWith(each.path, kSuiteFolder)) continue;
      predecessor = each.sha256;
      break;
    }
    return absl::OkStatus();
  }));
  return predecessor;
}

absl::Status ArtifactService::GetBundle(const v1::GetBundleRequest& request,
                                        v1::GetBundleResponse& response) {
  ASSIGN_OR_RETURN(const std::string sha256, approvals_.Find(request.bundle()));
  RETURN_IF_ERROR(Fill(sha256, *response.mutable_bundle()));
  std::string against;
  if (request.against().empty()) {
    ASSIGN_OR_RETURN(against, Predecessor(sha256));
  } else {
    ASSIGN_OR_RETURN(against, approvals_.Find(request.against()));
  }
  ASSIGN_OR_RETURN(const FileTree files, load_bundle_(sha256));
  FileTree before;
  if (!against.empty()) {
    ASSIGN_OR_RETURN(before, load_bundle_(against));
  }
  response.set_against(against);
  std::set<std::string> paths;
  for (const auto& [path, content] : files) paths.insert(path);
  for (const auto& [path, content] : before) paths.insert(path);
  for (const std::string& path : paths) {
    const auto now = files.find(path);
    const auto then = before.find(path);
    const bool is_here = now != files.end(), was_there = then != before.end();
    v1::BundleFile& file = *response.add_files();
    file.set_path(path);
    file.set_size(is_here ? now->second.size() : then->second.size());
    file.set_change(against.empty()               ? v1::FILE_CHANGE_SAME
                    : !is_here                    ? v1::FILE_CHANGE_REMOVED
                    : !was_there                  ? v1::FILE_CHANGE_ADDED
                    : now->second != then->second ? v1::FILE_CHANGE_CHANGED
                                                  : v1::FILE_CHANGE_SAME);
    if (against.empty() || response.diff_is_cut()) continue;
    std::string diff = UnifiedDiff(was_there ? then->second : "", is_here ? now->second : "", path);
    response.set_diff_is_cut(response.diff().size() + diff.size() > kMaxDiffBytes);
    if (!response.diff_is_cut()) response.mutable_diff()->append(diff);
  }
  return absl::OkStatus();
}

absl::Status ArtifactService::ApproveBundle(const grpc::ServerContext& context,
                                            const v1::ApproveBundleRequest& request,
                                            v1::ApproveBundleResponse& response) {
  RETURN_IF_ERROR(ValidateVariables(request.variables()));
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::string sha256, approvals_.Find(request.bundle()));
  RETURN_IF_ERROR(approvals_
                      .Approve(sha256, request.path(),
                               {request.variables().begin(), request.variables().end()},
                               caller.ToActor())
                      .status());
  return Fill(sha256, *response.mutable_bundle());
}

absl::Status ArtifactService::RevokeBundle(const grpc::ServerContext& context,
                                           const v1::RevokeBundleRequest& request,
                                           v1::RevokeBundleResponse& response) {
  ASSIGN_OR_RETURN(const Caller caller, CallerOf(context));
  ASSIGN_OR_RETURN(const std::string sha256, approvals_.Find(request.bundle()));
  RETURN_IF_ERROR(approvals_.Revoke(sha256, caller.ToActor()));
  return Fill(sha256, *response.mutable_bundle());
}

}  // namespace muster::controller
