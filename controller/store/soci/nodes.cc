#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "controller/store/soci/guard.h"
#include "controller/store/soci/statements.h"
#include "controller/store/soci/tables.h"
#include "controller/store/soci/types.h"

namespace muster::controller {
namespace {

using soci::into;
using soci::use;

// A query for nodes; each row that it finds is stored in `node`.
soci::details::prepare_temp_type Select(soci::session& session, const char* where,
                                        NodeRecord& node) {
  return (session.prepare << "SELECT uuid, name, state, description, agent_version, boot_id, "
                             "earlier_boots, enrolled_at, last_seen_at, plan_sequence, "
                             "report_sequence, last_run_id, last_run_result, locked_because, "
                             "endorsement_key FROM nodes "
                          << where,
          into(node.uuid), into(node.name), into(node.state), into(node.description),
          into(node.agent_version), into(node.boot_id), into(node.earlier_boots),
          into(node.enrolled_at), into(node.last_seen_at), into(node.plan_sequence),
          into(node.report_sequence), into(node.last_run_id), into(node.last_run_result),
          into(node.locked_because), into(node.endorsement_key));
}

}  // namespace

absl::StatusOr<NodeRecord> SociNodeTable::Get(absl::string_view uuid) {
  return Guard(context_.path, "nodes.Get", [&]() -> absl::StatusOr<NodeRecord> {
    auto& get = context_.statements.get_node;
    get.values = std::string(uuid);
    if (get.Run([&] {
          return (Select(context_.session, "WHERE uuid = :uuid", get.row), use(get.values));
        })) {
      return get.row;
    }
    return absl::NotFoundError(absl::StrCat("no node with uuid ", uuid, " is enrolled"));
  });
}

absl::StatusOr<NodeRecord> SociNodeTable::GetByName(absl::string_view name) {
  return Guard(context_.path, "nodes.GetByName", [&]() -> absl::StatusOr<NodeRecord> {
    auto& get = context_.statements.get_node_by_name;
    get.values = std::string(name);
    if (get.Run([&] {
          return (Select(context_.session, "WHERE name = :name AND state <> 4", get.row),
                  use(get.values));
        })) {
      return get.row;
    }
    return absl::NotFoundError(absl::StrCat("node ", name, " is not enrolled"));
  });
}

absl::StatusOr<std::vector<NodeRecord>> SociNodeTable::List() {
  return Guard(context_.path, "nodes.List", [&]() -> absl::StatusOr<std::vector<NodeRecord>> {
    NodeRecord node;
    soci::statement statement = Select(context_.session, "ORDER BY name, uuid", node);
    return ReadAll(statement, node);
  });
}

absl::Status SociNodeTable::Put(const NodeRecord& node) {
  return Guard(context_.path, "nodes.Put", [&]() -> absl::Status {
    auto& put = context_.statements.put_node;
    NodeRecord& row = put.values;
    row = node;
    put.Run([&] {
      return (
          context_.session.prepare
              << "INSERT INTO nodes (uuid, name, state, description, agent_version, boot_id, "
                 "earlier_boots, enrolled_at, last_seen_at, plan_sequence, report_sequence, "
                 "last_run_id, last_run_result, locked_because, endorsement_key) VALUES (:uuid, "
                 ":name, :state, :description, :version, :boot, :earlier, :enrolled, :seen, "
                 ":plan, :report, :run, :result, :locked, :tpm) "
                 "ON CONFLICT (uuid) DO UPDATE SET name = excluded.name, "
                 "state = excluded.state, description = excluded.description, "
                 "agent_version = excluded.agent_version, boot_id = excluded.boot_id, "
                 "earlier_boots = excluded.earlier_boots, "
                 "enrolled_at = excluded.enrolled_at, last_seen_at = excluded.last_seen_at, "
                 "plan_sequence = excluded.plan_sequence, "
                 "report_sequence = excluded.report_sequence, "
                 "last_run_id = excluded.last_run_id, "
                 "last_run_result = excluded.last_run_result, "
                 "locked_because = excluded.locked_because, "
                 "endorsement_key = excluded.endorsement_key",
          use(row.uuid), use(row.name), use(row.state), use(row.description),
          use(row.agent_version), use(row.boot_id), use(row.earlier_boots), use(row.enrolled_at),
          use(row.last_seen_at), use(row.plan_sequence), use(row.report_sequence),
          use(row.last_run_id), use(row.last_run_result), use(row.locked_because),
          use(row.endorsement_key));
    });
    return absl::OkStatus();
  });
}

absl::Status SociNodeTable::SetSequences(absl::string_view uuid, uint64_t plan_sequence,
                                         uint64_t report_sequence) {
  return Guard(context_.path, "nodes.SetSequences", [&]() -> absl::Status {
    auto& set = context_.statements.set_sequences;
    set.values = {std::string(uuid), plan_sequence, report_sequence};
    set.Run([&] {
      return (context_.session.prepare << "UPDATE nodes SET plan_sequence = :plan, "
                                          "report_sequence = :report WHERE uuid = :uuid",
              use(set.values.plan), use(set.values.report), use(set.values.uuid));
    });
    return absl::OkStatus();
  });
}

absl::Status SociNodeTable::Touch(absl::string_view uuid, const NodeTouch& touch) {
  return Guard(context_.path, "nodes.Touch", [&]() -> absl::Status {
    auto& update = context_.statements.touch_node;
    update.values = {std::string(uuid), touch};
    NodeTouch& row = update.values.touch;
    update.Run([&] {
      return (context_.session.prepare
                  << "UPDATE nodes SET last_seen_at = :seen, boot_id = :boot, "
                     "earlier_boots = :earlier, agent_version = :version WHERE uuid = :uuid",
              use(row.last_seen_at), use(row.boot_id), use(row.earlier_boots),
              use(row.agent_version), use(update.values.uuid));
    });
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> SociNodeTable::Facts(absl::string_view uuid) {
  return Guard(context_.path, "nodes.Facts", [&]() -> absl::StatusOr<std::string> {
    auto& get = context_.statements.get_facts;
    get.values = std::string(uuid);
    const bool found = get.Run([&] {
      return (context_.session.prepare << "SELECT facts FROM node_facts WHERE node_uuid = :uuid",
              into(get.row), use(get.values));
    });
    return found ? get.row : std::string();
  });
}

absl::Status SociNodeTable::PutFacts(absl::string_view uuid, const std::string& facts) {
  RETURN_IF_ERROR(Get(uuid).status());
  return Guard(context_.path, "nodes.PutFacts", [&]() -> absl::Status {
    auto& put = context_.statements.put_facts;
    put.values = {std::string(uuid), facts};
    put.Run([&] {
      return (context_.session.prepare
                  << "INSERT INTO node_facts (node_uuid, facts) VALUES (:uuid, "
                     "CAST(:facts AS BLOB)) ON CONFLICT (node_uuid) DO UPDATE SET "
                     "facts = excluded.facts, refused = '', refused_at = NULL",
              use(put.values.uuid), use(put.values.facts));
    });
    return absl::OkStatus();
  });
}

absl::Status SociNodeTable::PutFactsRefusal(const FactsRefusal& refusal) {
  RETURN_IF_ERROR(Get(refusal.node_uuid).status());
  return Guard(context_.path, "nodes.PutFactsRefusal", [&]() -> absl::Status {
    context_.session << "INSERT INTO node_facts (node_uuid, facts, refused, refused_at) VALUES "
                        "(:uuid, x'', :refused, :at) ON CONFLICT (node_uuid) DO UPDATE SET "
                        "refused = excluded.refused, refused_at = excluded.refused_at",
        use(refusal.node_uuid), use(refusal.why), use(refusal.at);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<FactsRefusal>> SociNodeTable::ListFactsRefusals() {
  return Guard(context_.path, "nodes.ListFactsRefusals",
               [&]() -> absl::StatusOr<std::vector<FactsRefusal>> {
                 FactsRefusal refusal;
                 soci::statement statement =
                     (context_.session.prepare << "SELECT node_uuid, refused, refused_at FROM "
                                                  "node_facts WHERE refused <> ''",
                      into(refusal.node_uuid), into(refusal.why), into(refusal.at));
                 return ReadAll(statement, refusal);
               });
}

absl::Status SociNodeTable::ForEachFacts(
    absl::FunctionRef<void(const std::string& name, const std::string& facts)> fn) {
  return Guard(context_.path, "nodes.ForEachFacts", [&]() -> absl::Status {
    std::string name, facts;
    soci::statement statement =
        (context_.session.prepare << "SELECT name, facts FROM nodes JOIN node_facts "
                                     "ON node_uuid = uuid WHERE state <> 4 AND length(facts) > 0 "
                                     "ORDER BY name",
         into(name), into(facts));
    statement.execute(false);
    while (statement.fetch()) fn(name, facts);
    return absl::OkStatus();
  });
}

}  // namespace muster::controller
