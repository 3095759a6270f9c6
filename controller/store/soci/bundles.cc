#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        BundleRecord& bundle) {
  return (session.prepare << "SELECT sha256, size, created_at, uploaded_by FROM bundles " << where,
          into(bundle.sha256), into(bundle.size), into(bundle.created_at),
          into(bundle.uploaded_by));
}

soci::details::prepare_temp_type SelectApproval(soci::session& session, const char* where,
                                                BundleApprovalRecord& row) {
  return (session.prepare << "SELECT bundle_sha256, path, suites_digest, variables, run_id, "
                             "approved_by, approved_at, revoked_by, revoked_at "
                             "FROM bundle_approvals "
                          << where,
          into(row.sha256), into(row.path), into(row.suites_digest), into(row.variables),
          into(row.run_id), into(row.approved_by), into(row.approved_at), into(row.revoked_by),
          into(row.revoked_at));
}

}  // namespace

absl::Status SociBundleTable::Put(const BundleRecord& bundle) {
  return Guard(context_.path, "bundles.Put", [&]() -> absl::Status {
    context_.session << "INSERT INTO bundles (sha256, size, created_at, uploaded_by) VALUES "
                        "(:sha256, :size, :created, :by) ON CONFLICT (sha256) DO UPDATE SET "
                        "size = excluded.size, created_at = excluded.created_at, "
                        "uploaded_by = iif(uploaded_by = '', excluded.uploaded_by, uploaded_by)",
        use(bundle.sha256), use(bundle.size), use(bundle.created_at), use(bundle.uploaded_by);
    return absl::OkStatus();
  });
}

absl::StatusOr<BundleRecord> SociBundleTable::Get(absl::string_view sha256) {
  return Guard(context_.path, "bundles.Get", [&]() -> absl::StatusOr<BundleRecord> {
    BundleRecord bundle;
    const std::string key(sha256);
    soci::statement statement =
        (Select(context_.session, "WHERE sha256 = :sha256", bundle), use(key));
    if (ReadOne(statement)) return bundle;
    return absl::NotFoundError(absl::StrCat("no bundle ", sha256));
  });
}

absl::StatusOr<std::vector<BundleRecord>> SociBundleTable::List() {
  return Guard(context_.path, "bundles.List", [&]() -> absl::StatusOr<std::vector<BundleRecord>> {
    BundleRecord bundle;
    soci::statement statement = Select(context_.session, "ORDER BY sha256", bundle);
    return ReadAll(statement, bundle);
  });
}

absl::Status SociBundleApprovalTable::Put(const BundleApprovalRecord& row) {
  return Guard(context_.path, "bundle_approvals.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO bundle_approvals (bundle_sha256, path, suites_digest, variables, run_id, "
           "approved_by, approved_at, revoked_by, revoked_at) VALUES (:sha256, :path, :suites, "
           ":variables, :run, :by, :at, :revoked_by, :revoked_at) "
           "ON CONFLICT (bundle_sha256, path) DO UPDATE SET "
           "suites_digest = excluded.suites_digest, variables = excluded.variables, "
           "run_id = excluded.run_id, approved_by = excluded.approved_by, "
           "approved_at = excluded.approved_at, revoked_by = excluded.revoked_by, "
           "revoked_at = excluded.revoked_at",
        use(row.sha256), use(row.path), use(row.suites_digest), use(row.variables), use(row.run_id),
        use(row.approved_by), use(row.approved_at), use(row.revoked_by), use(row.revoked_at);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<BundleApprovalRecord>> SociBundleApprovalTable::List(
    absl::string_view sha256) {
  return Guard(
      context_.path, "bundle_approvals.List",
      [&]() -> absl::StatusOr<std::vector<BundleApprovalRecord>> {
        BundleApprovalRecord row;
        const std::string key(sha256);
        soci::statement statement =
            (SelectApproval(context_.session, "WHERE bundle_sha256 = :key ORDER BY path", row),
             use(key));
        return ReadAll(statement, row);
      });
}

absl::StatusOr<std::vector<BundleApprovalRecord>> SociBundleApprovalTable::List() {
  return Guard(context_.path, "bundle_approvals.List",
               [&]() -> absl::StatusOr<std::vector<BundleApprovalRecord>> {
                 BundleApprovalRecord row;
                 soci::statement statement = SelectApproval(
                     context_.session, "ORDER BY approved_at DESC, bundle_sha256, path", row);
                 return ReadAll(statement, row);
               });
}

}  // namespace muster::controller
