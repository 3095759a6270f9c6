#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        EnrollmentRecord& row) {
  return (session.prepare << "SELECT enrollment_id, token_hash, node_uuid, node_name, csr_pem, "
                             "description, peer, requested_at, certificate_pem, rejected, "
                             "endorsement_key, requested FROM enrollments "
                          << where,
          into(row.enrollment_id), into(row.token_hash), into(row.node_uuid), into(row.node_name),
          into(row.csr_pem), into(row.description), into(row.peer), into(row.requested_at),
          into(row.certificate_pem), into(row.rejected), into(row.endorsement_key),
          into(row.requested));
}

}  // namespace

absl::StatusOr<EnrollmentRecord> SociEnrollmentTable::Get(absl::string_view enrollment_id) {
  return Guard(context_.path, "enrollments.Get", [&]() -> absl::StatusOr<EnrollmentRecord> {
    EnrollmentRecord row;
    const std::string key(enrollment_id);
    soci::statement statement =
        (Select(context_.session, "WHERE enrollment_id = :id", row), use(key));
    if (ReadOne(statement)) return row;
    return absl::NotFoundError(absl::StrCat("no enrollment ", enrollment_id));
  });
}

absl::StatusOr<std::vector<EnrollmentRecord>> SociEnrollmentTable::List() {
  return Guard(context_.path, "enrollments.List",
               [&]() -> absl::StatusOr<std::vector<EnrollmentRecord>> {
                 EnrollmentRecord row;
                 soci::statement statement =
                     Select(context_.session, "ORDER BY requested_at, enrollment_id", row);
                 return ReadAll(statement, row);
               });
}

absl::StatusOr<std::vector<EnrollmentRecord>> SociEnrollmentTable::ListRelated(
    absl::string_view node_name, absl::string_view node_uuid, absl::string_view token_hash) {
  return Guard(context_.path, "enrollments.ListRelated",
               [&]() -> absl::StatusOr<std::vector<EnrollmentRecord>> {
                 EnrollmentRecord row;
                 const std::string name(node_name), uuid(node_uuid), hash(token_hash);
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE node_name = :name OR node_uuid = :uuid OR token_hash = :hash "
                             "ORDER BY requested_at, enrollment_id",
                             row),
                      use(name), use(uuid), use(hash));
                 return ReadAll(statement, row);
               });
}

absl::Status SociEnrollmentTable::Put(const EnrollmentRecord& row) {
  return Guard(context_.path, "enrollments.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO enrollments (enrollment_id, token_hash, node_uuid, node_name, csr_pem, "
           "description, peer, requested_at, certificate_pem, rejected, endorsement_key, "
           "requested) "
           "VALUES (:id, :hash, :uuid, :name, :csr, :description, :peer, :at, :certificate, "
           ":rejected, :tpm, :requested) "
           "ON CONFLICT (enrollment_id) DO UPDATE SET token_hash = excluded.token_hash, "
           "node_uuid = excluded.node_uuid, node_name = excluded.node_name, "
           "csr_pem = excluded.csr_pem, description = excluded.description, "
           "peer = excluded.peer, requested_at = excluded.requested_at, "
           "certificate_pem = excluded.certificate_pem, rejected = excluded.rejected, "
           "endorsement_key = excluded.endorsement_key, requested = excluded.requested",
        use(row.enrollment_id), use(row.token_hash), use(row.node_uuid), use(row.node_name),
        use(row.csr_pem), use(row.description), use(row.peer), use(row.requested_at),
        use(row.certificate_pem), use(row.rejected), use(row.endorsement_key), use(row.requested);
    return absl::OkStatus();
  });
}

absl::Status SociEnrollmentTable::Delete(absl::string_view enrollment_id) {
  return Guard(context_.path, "enrollments.Delete", [&]() -> absl::Status {
    const std::string key(enrollment_id);
    context_.session << "DELETE FROM enrollments WHERE enrollment_id = :id", use(key);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
