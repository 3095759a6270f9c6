#include "absl/strings/str_cat.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        InventoryRecord& record) {
  return (
      session.prepare << "SELECT revision, applied_at, applied_by, files FROM inventory " << where,
      into(record.revision), into(record.applied_at), into(record.applied_by), into(record.files));
}

}  // namespace

absl::StatusOr<InventoryRecord> SociInventoryTable::Latest() {
  return Guard(context_.path, "inventory.Latest", [&]() -> absl::StatusOr<InventoryRecord> {
    InventoryRecord record;
    soci::statement statement = Select(context_.session, "ORDER BY revision DESC LIMIT 1", record);
    if (ReadOne(statement)) return record;
    return absl::NotFoundError("no inventory yet; apply one with `muster inventory apply`");
  });
}

absl::StatusOr<InventoryRecord> SociInventoryTable::Get(uint64_t revision) {
  return Guard(context_.path, "inventory.Get", [&]() -> absl::StatusOr<InventoryRecord> {
    InventoryRecord record;
    soci::statement statement =
        (Select(context_.session, "WHERE revision = :revision", record), use(revision));
    if (ReadOne(statement)) return record;
    return absl::NotFoundError(absl::StrCat("no inventory revision ", revision));
  });
}

absl::Status SociInventoryTable::Insert(const InventoryRecord& record) {
  return Guard(context_.path, "inventory.Insert", [&]() -> absl::Status {
    context_.session << "INSERT INTO inventory (revision, applied_at, applied_by, files) "
                        "VALUES (:revision, :at, :by, CAST(:files AS BLOB))",
        use(record.revision), use(record.applied_at), use(record.applied_by), use(record.files);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
