#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

constexpr NodeRecord::State kEnrolled = NodeRecord::kEnrolled,
                            kConfigured = NodeRecord::kConfigured;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        CertificateRecord& certificate) {
  return (session.prepare << "SELECT serial, COALESCE(node_uuid, ''), user, role, not_before, "
                             "not_after, revoked_at, authority_ends, generation, used_at, "
                             "used_from, signed_by, roots, replaces FROM certificates "
                          << where,
          into(certificate.serial), into(certificate.node_uuid), into(certificate.user),
          into(certificate.role), into(certificate.not_before), into(certificate.not_after),
          into(certificate.revoked_at), into(certificate.authority_ends),
          into(certificate.generation), into(certificate.used_at), into(certificate.used_from),
          into(certificate.signed_by), into(certificate.roots), into(certificate.replaces));
}

}  // namespace

absl::Status SociCertificateTable::Insert(const CertificateRecord& certificate) {
  return Guard(context_.path, "certificates.Insert", [&]() -> absl::Status {
    context_.session << "INSERT INTO certificates (serial, node_uuid, user, role, not_before, "
                        "not_after, revoked_at, authority_ends, generation, signed_by, roots, "
                        "replaces) "
                        "VALUES (:serial, NULLIF(:node, ''), :user, :role, :not_before, "
                        ":not_after, :revoked, :authority_ends, :generation, :signed_by, :roots, "
                        ":replaces)",
        use(certificate.serial), use(certificate.node_uuid), use(certificate.user),
        use(certificate.role), use(certificate.not_before), use(certificate.not_after),
        use(certificate.revoked_at), use(certificate.authority_ends), use(certificate.generation),
        use(certificate.signed_by), use(certificate.roots), use(certificate.replaces);
    return absl::OkStatus();
  });
}

absl::StatusOr<CertificateRecord> SociCertificateTable::Get(absl::string_view serial) {
  return Guard(context_.path, "certificates.Get", [&]() -> absl::StatusOr<CertificateRecord> {
    CertificateRecord certificate;
    const std::string key(serial);
    soci::statement statement =
        (Select(context_.session, "WHERE serial = :serial", certificate), use(key));
    if (ReadOne(statement)) return certificate;
    return absl::NotFoundError(absl::StrCat("no certificate with serial ", serial));
  });
}

absl::StatusOr<std::vector<CertificateRecord>> SociCertificateTable::ListByNode(
    absl::string_view uuid) {
  return Guard(context_.path, "certificates.ListByNode",
               [&]() -> absl::StatusOr<std::vector<CertificateRecord>> {
                 CertificateRecord certificate;
                 const std::string key(uuid);
                 soci::statement statement =
                     (Select(context_.session,
                             "WHERE node_uuid = :uuid ORDER BY not_before, serial", certificate),
                      use(key));
                 return ReadAll(statement, certificate);
               });
}

absl::StatusOr<std::vector<CertificateRecord>> SociCertificateTable::ListUsers() {
  return Guard(context_.path, "certificates.ListUsers",
               [&]() -> absl::StatusOr<std::vector<CertificateRecord>> {
                 CertificateRecord certificate;
                 soci::statement statement = Select(
                     context_.session, "WHERE user <> '' ORDER BY not_before, serial", certificate);
                 return ReadAll(statement, certificate);
               });
}

absl::StatusOr<std::vector<std::pair<std::string, std::string>>>
SociCertificateTable::ListNodesBehind(absl::string_view signed_by, absl::string_view roots) {
  using Nodes = std::vector<std::pair<std::string, std::string>>;
  return Guard(
      context_.path, "certificates.ListNodesBehind", [&]() -> absl::StatusOr<Nodes> {
        std::pair<std::string, std::string> node;
        const std::string authority(signed_by), given(roots);
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT nodes.uuid, nodes.name FROM nodes LEFT JOIN certificates ON "
                    "certificates.serial = (SELECT serial FROM certificates AS own "
                    "WHERE own.node_uuid = nodes.uuid AND (own.used_at IS NOT NULL OR "
                    "(own.generation = 0 AND nodes.last_seen_at IS NOT NULL)) "
                    "ORDER BY generation DESC, not_before DESC LIMIT 1) "
                    "WHERE nodes.state IN (:enrolled, :configured) AND nodes.locked_because = '' "
                    "AND (certificates.serial IS NULL OR signed_by <> :authority OR roots <> "
                    ":roots) "
                    "ORDER BY nodes.name",
             into(node.first), into(node.second), use(kEnrolled), use(kConfigured), use(authority),
             use(given));
        return ReadAll(statement, node);
      });
}

absl::StatusOr<CertificateRecord> SociCertificateTable::Newest() {
  return Guard(context_.path, "certificates.Newest", [&]() -> absl::StatusOr<CertificateRecord> {
    CertificateRecord certificate;
    soci::statement statement =
        Select(context_.session, "ORDER BY not_before DESC, rowid DESC LIMIT 1", certificate);
    if (ReadOne(statement)) return certificate;
    return absl::NotFoundError("no certificate was signed yet");
  });
}

absl::Status SociCertificateTable::MarkUsed(absl::string_view serial, absl::Time now,
                                            absl::string_view from) {
  return Guard(context_.path, "certificates.MarkUsed", [&]() -> absl::Status {
    const std::string key(serial), peer(from);
    context_.session << "UPDATE certificates SET used_at = :now, used_from = :peer "
                        "WHERE serial = :serial AND used_at IS NULL",
        use(now), use(peer), use(key);
    return absl::OkStatus();
  });
}

absl::Status SociCertificateTable::RevokeByUser(absl::string_view user, absl::Time now) {
  return Guard(context_.path, "certificates.RevokeByUser", [&]() -> absl::Status {
    const std::string key(user);
    context_.session << "UPDATE certificates SET revoked_at = :now "
                        "WHERE user = :user AND revoked_at IS NULL",
        use(now), use(key);
    // The latest time counts, also when the clock was set back.
    context_.session << "INSERT INTO denied_users (name, denied_before) VALUES (:user, :now) "
                        "ON CONFLICT (name) DO UPDATE SET "
                        "denied_before = max(denied_before, excluded.denied_before)",
        use(key), use(now);
    return absl::OkStatus();
  });
}

absl::Status SociCertificateTable::RevokeByNode(absl::string_view uuid, absl::Time now) {
  return Guard(context_.path, "certificates.RevokeByNode", [&]() -> absl::Status {
    const std::string key(uuid);
    context_.session << "UPDATE certificates SET revoked_at = :now "
                        "WHERE node_uuid = :uuid AND revoked_at IS NULL",
        use(now), use(key);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<std::string>> SociCertificateTable::ListDenied() {
  return Guard(context_.path, "certificates.ListDenied",
               [&]() -> absl::StatusOr<std::vector<std::string>> {
                 std::string serial;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT serial FROM certificates WHERE revoked_at IS NOT NULL "
                             "ORDER BY serial",
                      into(serial));
                 return ReadAll(statement, serial);
               });
}

absl::StatusOr<std::vector<DeniedUserRecord>> SociCertificateTable::ListDeniedUsers() {
  return Guard(context_.path, "certificates.ListDeniedUsers",
               [&]() -> absl::StatusOr<std::vector<DeniedUserRecord>> {
                 DeniedUserRecord person;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT name, denied_before FROM denied_users ORDER BY name",
                      into(person.name), into(person.denied_before));
                 return ReadAll(statement, person);
               });
}

absl::StatusOr<uint64_t> SociCertificateTable::RemoveExpired(absl::Time nodes, absl::Time people) {
  return Guard(context_.path, "certificates.RemoveExpired",
               [&]() -> absl::StatusOr<uint64_t> {
                 soci::statement remove =
                     (context_.session.prepare
                          << "DELETE FROM certificates WHERE (user = '' AND not_after < :nodes AND "
                             "(revoked_at IS NULL OR authority_ends < :nodes_again)) OR "
                             "(user <> '' AND not_after < :people AND "
                             "(revoked_at IS NULL OR authority_ends < :people_again))",
                      use(nodes), use(nodes), use(people), use(people));
                 remove.execute(true);
                 return static_cast<uint64_t>(remove.get_affected_rows());
               });
}

}  // namespace muster::controller
