#include "controller/blob_retention.h"

#include <algorithm>

#include "absl/strings/str_split.h"
#include "common/base/status.h"
#include "controller/run/run_records.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"
#include "muster/v1/run.pb.h"

namespace muster::controller {

namespace {

// Takes some milliseconds.
constexpr size_t kNodesAtATime = 500;

}  // namespace

absl::StatusOr<std::set<std::string>> ReferredBlobs(Store& store) {
  std::set<std::string> referred;
  std::vector<NodeRecord> nodes;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<BundleRecord> bundles, txn.bundles().List());
    for (const BundleRecord& bundle : bundles) referred.insert(bundle.sha256);
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().ListRunning());
    for (const RunRecord& run : runs) {
      const v1::CreateRunRequest request = RequestOf(run);
      referred.insert({request.bundle_sha256(), request.plan_sha256()});
    }
    ASSIGN_OR_RETURN(nodes, txn.nodes().List());
    return absl::OkStatus();
  }));
  for (size_t begin = 0; begin < nodes.size(); begin += kNodesAtATime) {
    RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
      for (size_t i = begin; i < std::min(nodes.size(), begin + kNodesAtATime); ++i) {
        ASSIGN_OR_RETURN(const auto plans, txn.open_plans().List(nodes[i].uuid));
        for (const OpenPlanRecord& plan : plans) {
          for (const absl::string_view blob : absl::StrSplit(plan.blobs, ' ', absl::SkipEmpty()))
            referred.emplace(blob);
        }
      }
      return absl::OkStatus();
    }));
  }
  return referred;
}

std::vector<std::string> UnusedBlobs(const std::vector<BlobInfo>& blobs,
                                     const std::set<std::string>& referred, absl::Time time) {
  std::vector<std::string> unused;
  for (const BlobInfo& blob : blobs) {
    if (blob.used_at < time && referred.count(blob.sha256) == 0) unused.push_back(blob.sha256);
  }
  return unused;
}

}  // namespace muster::controller
