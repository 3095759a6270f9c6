// Which bundles operators may run. Whatever runs on nodes runs as root, so an administrator must
// have applied or approved it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/audit/audit.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster {
class Clock;
}

namespace muster::controller {

// The folder of the suites in a bundle.
inline constexpr absl::string_view kSuiteFolder = "playbooks/suites/";

// The part of a bundle that somebody wants to run.
struct BundleUse {
  std::string sha256;
  std::string path;                              // of the playbook in it
  std::map<std::string, std::string> variables;  // -e: name → JSON
};

// Whether the bundle's `approvals` let an operator run `use`. Pure. PermissionDenied, with what to
// ask an administrator for.
absl::Status CheckApproved(const std::vector<BundleApprovalRecord>& approvals,
                           absl::string_view actor, const BundleUse& use);

// A digest of the bundle's suites and hardware files, which are all that a validation reads: equal
// for the whole site and for the part of it that `muster validate` packs. Empty: it has no suites.
// Pure.
std::string SuitesDigest(const std::map<std::string, std::string>& files);

// Thread-safe. Blocks on the store and the blobs: must not be called inside one of the store's
// transactions, except for Keep().
class BundleApprovals {
 public:
  using LoadBundle =
      std::function<absl::StatusOr<std::map<std::string, std::string>>(const std::string& sha256)>;

  // The least number of digits in the beginning of a digest that names a bundle.
  static constexpr size_t kMinBeginning = 8;

  // `store` and `clock` must outlive the object. `is_strict` false: operators run any bundle,
  // and update policies still what was approved.
  BundleApprovals(Store& store, Clock& clock, LoadBundle load_bundle, bool is_strict)
      : store_(store), clock_(clock), load_bundle_(std::move(load_bundle)), is_strict_(is_strict) {}

  // Administrators and the controller itself may run everything. PermissionDenied for others, as
  // CheckApproved() decides.
  absl::Status MayRun(absl::string_view actor, const BundleUse& use);
  // The same for a validation: some approved bundle must have these suites and hardware files.
  absl::Status MayValidate(absl::string_view actor, const std::string& sha256);

  // The approval that `actor` gives by running the bundle; nullopt for all but administrators.
  std::optional<BundleApprovalRecord> ByRunning(absl::string_view actor, const std::string& sha256,
                                                const std::string& path, const std::string& run_id);
  // Stores it with the run, unless the bundle was approved before or an approval of it was revoked.
  static absl::Status Keep(Transaction& txn, const BundleApprovalRecord& approval);

  // The whole digest of the uploaded bundle whose digest begins with `beginning`. NotFound: none.
  // InvalidArgument: too short, or several bundles match.
  absl::StatusOr<std::string> Find(absl::string_view beginning);
  // `path` empty: everything in the bundle. NotFound: `path` is not in the bundle.
  absl::StatusOr<BundleApprovalRecord> Approve(const std::string& sha256, const std::string& path,
                                               const std::vector<std::string>& variables,
                                               const Actor& actor);
  // NotFound: nothing of the bundle is approved.
  absl::Status Revoke(const std::string& sha256, const Actor& actor);

 private:
  // The actor needs no approval.
  bool IsFree(absl::string_view actor) const;

  Store& store_;
  Clock& clock_;
  const LoadBundle load_bundle_;
  const bool is_strict_;
};

}  // namespace muster::controller
