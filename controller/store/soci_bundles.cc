#include "absl/strings/str_cat.h"
#include "controller/store/soci_guard.h"
#include "controller/store/soci_tables.h"
#include "controller/store/soci_types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociBundleTable::Put(const BundleRecord& bundle) {
  return Guard(context_.path, "bundles.Put", [&]() -> absl::Status {
    context_.session << "INSERT INTO bundles (sha256, size, created_at) VALUES (:sha256, :size, "
                        ":created) ON CONFLICT (sha256) DO UPDATE SET size = excluded.size, "
                        "created_at = excluded.created_at",
        use(bundle.sha256), use(bundle.size), use(bundle.created_at);
    return absl::OkStatus();
  });
}

absl::StatusOr<BundleRecord> SociBundleTable::Get(absl::string_view sha256) {
  return Guard(context_.path, "bundles.Get",
               [&]() -> absl::StatusOr<BundleRecord> {
                 BundleRecord bundle;
                 const std::string key(sha256);
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT sha256, size, created_at FROM bundles WHERE sha256 = :sha256",
                      into(bundle.sha256), into(bundle.size), into(bundle.created_at), use(key));
                 if (ReadOne(statement)) return bundle;
                 return absl::NotFoundError(absl::StrCat("no bundle ", sha256));
               });
}

absl::StatusOr<std::vector<BundleRecord>> SociBundleTable::List() {
  return Guard(context_.path, "bundles.List", [&]() -> absl::StatusOr<std::vector<BundleRecord>> {
    BundleRecord bundle;
    soci::statement statement =
        (context_.session.prepare << "SELECT sha256, size, created_at FROM bundles ORDER BY sha256",
         into(bundle.sha256), into(bundle.size), into(bundle.created_at));
    return ReadAll(statement, bundle);
  });
}

}  // namespace muster::controller
