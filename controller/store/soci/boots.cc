#include <algorithm>
#include <limits>

#include "controller/store/soci/guard.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

// The number of the newest boot of each node.
constexpr char kNewestBoots[] = "(SELECT MAX(number) FROM boots GROUP BY node)";

std::vector<BootStepRecord> SelectBootSteps(soci::session& session, const char* more,
                                            uint64_t sequence, uint32_t limit) {
  BootStepRecord row;
  const auto place =
      static_cast<int64_t>(std::min<uint64_t>(sequence, std::numeric_limits<int64_t>::max()));
  const int64_t rows = limit;
  soci::statement statement =
      (session.prepare << "SELECT sequence, boot_id, node, phase, detail, time FROM boot_steps "
                       << more << " LIMIT :rows",
       into(row.sequence), into(row.boot_id), into(row.node), into(row.phase), into(row.detail),
       into(row.time), use(place), use(rows));
  return ReadAll(statement, row);
}

}  // namespace

absl::Status SociBootTable::PutOrder(const BootOrderRecord& order) {
  return Guard(context_.path, "boots.PutOrder", [&]() -> absl::Status {
    context_.session << "INSERT OR REPLACE INTO boot_orders (node, order_id, choice, once, "
                        "ordered_by, ordered_at) VALUES (:node, :id, :choice, :once, :by, :at)",
        use(order.node), use(order.order_id), use(order.choice), use(order.once),
        use(order.ordered_by), use(order.ordered_at);
    return absl::OkStatus();
  });
}

absl::Status SociBootTable::RemoveOrder(absl::string_view node, absl::string_view order_id) {
  return Guard(context_.path, "boots.RemoveOrder", [&]() -> absl::Status {
    const std::string of(node), id(order_id);
    context_.session << "DELETE FROM boot_orders WHERE node = :node AND order_id = :id", use(of),
        use(id);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<BootOrderRecord>> SociBootTable::ListOrders() {
  return Guard(context_.path, "boots.ListOrders",
               [&]() -> absl::StatusOr<std::vector<BootOrderRecord>> {
                 BootOrderRecord row;
                 soci::statement statement =
                     (context_.session.prepare
                          << "SELECT node, order_id, choice, once, ordered_by, ordered_at "
                             "FROM boot_orders ORDER BY node",
                      into(row.node), into(row.order_id), into(row.choice), into(row.once),
                      into(row.ordered_by), into(row.ordered_at));
                 return ReadAll(statement, row);
               });
}

absl::Status SociBootTable::PutDisk(const BootDiskRecord& disk) {
  return Guard(context_.path, "boots.PutDisk", [&]() -> absl::Status {
    context_.session
        << "INSERT OR REPLACE INTO boot_disks (node, boot_id, mac, what, image, written_at, "
           "outcome, is_signed) VALUES (:node, :id, :mac, :what, :image, :at, :outcome, :signed)",
        use(disk.node), use(disk.boot_id), use(disk.mac), use(disk.what), use(disk.image),
        use(disk.written_at), use(disk.outcome), use(disk.is_signed);
    return absl::OkStatus();
  });
}

absl::Status SociBootTable::RemoveDisk(absl::string_view node) {
  return Guard(context_.path, "boots.RemoveDisk", [&]() -> absl::Status {
    const std::string of(node);
    context_.session << "DELETE FROM boot_disks WHERE node = :node", use(of);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<BootDiskRecord>> SociBootTable::ListDisks() {
  return Guard(
      context_.path, "boots.ListDisks", [&]() -> absl::StatusOr<std::vector<BootDiskRecord>> {
        BootDiskRecord row;
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT node, boot_id, mac, what, image, written_at, outcome, "
                    "is_signed FROM boot_disks ORDER BY node",
             into(row.node), into(row.boot_id), into(row.mac), into(row.what), into(row.image),
             into(row.written_at), into(row.outcome), into(row.is_signed));
        return ReadAll(statement, row);
      });
}

absl::Status SociBootTable::Append(const BootRecord& boot, uint32_t keep) {
  return Guard(context_.path, "boots.Append", [&]() -> absl::Status {
    const int64_t kept = keep;
    context_.session << "INSERT INTO boots (boot_id, node, mac, what, image, order_id, began_at, "
                        "is_signed) VALUES (:id, :node, :mac, :what, :image, :order, :at, :signed)",
        use(boot.boot_id), use(boot.node), use(boot.mac), use(boot.what), use(boot.image),
        use(boot.order_id), use(boot.began_at), use(boot.is_signed);
    context_.session << "DELETE FROM boots WHERE node = :node AND number NOT IN (SELECT number "
                        "FROM boots WHERE node = :same ORDER BY number DESC LIMIT :keep)",
        use(boot.node, "node"), use(boot.node, "same"), use(kept, "keep");
    return absl::OkStatus();
  });
}

absl::Status SociBootTable::AppendStep(const BootStepRecord& step) {
  return Guard(context_.path, "boots.AppendStep", [&]() -> absl::Status {
    context_.session << "INSERT INTO boot_steps (boot_id, node, phase, detail, time) "
                        "SELECT boot_id, node, :phase, :detail, :time FROM boots "
                        "WHERE boot_id = :id",
        use(step.phase), use(step.detail), use(step.time), use(step.boot_id);
    return absl::OkStatus();
  });
}

absl::StatusOr<absl::Time> SociBootTable::NewestOf(absl::string_view node) {
  return Guard(context_.path, "boots.NewestOf", [&]() -> absl::StatusOr<absl::Time> {
    absl::Time began_at;
    const std::string of(node);
    soci::statement statement =
        (context_.session.prepare << "SELECT began_at FROM boots WHERE node = :node "
                                     "ORDER BY number DESC LIMIT 1",
         into(began_at), use(of));
    if (ReadOne(statement)) return began_at;
    return absl::NotFoundError("no boot of this node");
  });
}

absl::StatusOr<absl::Time> SociBootTable::NewestStepOf(absl::string_view node) {
  return Guard(context_.path, "boots.NewestStepOf", [&]() -> absl::StatusOr<absl::Time> {
    absl::Time time;
    const std::string of(node);
    soci::statement statement =
        (context_.session.prepare
             << "SELECT time FROM boot_steps WHERE boot_id = (SELECT boot_id FROM boots "
                "WHERE node = :node ORDER BY number DESC LIMIT 1) ORDER BY sequence DESC LIMIT 1",
         into(time), use(of));
    if (ReadOne(statement)) return time;
    return absl::NotFoundError("no step of a boot of this node");
  });
}

absl::StatusOr<std::vector<BootRecord>> SociBootTable::ListNewest() {
  return Guard(context_.path, "boots.ListNewest", [&]() -> absl::StatusOr<std::vector<BootRecord>> {
    BootRecord row;
    soci::statement statement =
        (context_.session.prepare
             << "SELECT boot_id, node, mac, what, image, order_id, began_at, is_signed FROM boots "
                "WHERE number IN "
             << kNewestBoots << " ORDER BY node",
         into(row.boot_id), into(row.node), into(row.mac), into(row.what), into(row.image),
         into(row.order_id), into(row.began_at), into(row.is_signed));
    return ReadAll(statement, row);
  });
}

absl::StatusOr<std::vector<BootStepRecord>> SociBootTable::ListNewestSteps() {
  return Guard(
      context_.path, "boots.ListNewestSteps", [&]() -> absl::StatusOr<std::vector<BootStepRecord>> {
        BootStepRecord row;
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT s.sequence, s.boot_id, s.node, s.phase, s.detail, s.time "
                    "FROM boot_steps s JOIN boots b ON b.boot_id = s.boot_id WHERE b.number IN "
                 << kNewestBoots << " ORDER BY s.sequence",
             into(row.sequence), into(row.boot_id), into(row.node), into(row.phase),
             into(row.detail), into(row.time));
        return ReadAll(statement, row);
      });
}

absl::StatusOr<std::vector<BootStepRecord>> SociBootTable::ListStepsBefore(uint64_t sequence,
                                                                           uint32_t limit) {
  return Guard(
      context_.path, "boots.ListStepsBefore", [&]() -> absl::StatusOr<std::vector<BootStepRecord>> {
        return SelectBootSteps(context_.session, "WHERE sequence < :place ORDER BY sequence DESC",
                               sequence, limit);
      });
}

absl::StatusOr<std::vector<BootStepRecord>> SociBootTable::ListStepsAfter(uint64_t sequence,
                                                                          uint32_t limit) {
  return Guard(
      context_.path, "boots.ListStepsAfter", [&]() -> absl::StatusOr<std::vector<BootStepRecord>> {
        return SelectBootSteps(context_.session, "WHERE sequence > :place ORDER BY sequence",
                               sequence, limit);
      });
}

}  // namespace muster::controller
