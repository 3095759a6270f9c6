#include "controller/store/soci_guard.h"
#include "controller/store/soci_tables.h"
#include "controller/store/soci_types.h"

namespace muster::controller {

using soci::into;
using soci::use;

absl::Status SociStepResultTable::Put(const StepResultRecord& result) {
  return Guard(context_.path, "step_results.Put", [&]() -> absl::Status {
    context_.session
        << "INSERT INTO step_results (run_id, node, play_index, step_id, sequence, status, "
           "result, time) VALUES (:run, :node, :play, :step, :sequence, :status, "
           "CAST(:result AS BLOB), :time) ON CONFLICT (run_id, node, play_index, step_id) "
           "DO UPDATE SET sequence = excluded.sequence, status = excluded.status, "
           "result = excluded.result, time = excluded.time",
        use(result.run_id), use(result.node), use(result.play_index), use(result.step_id),
        use(result.sequence), use(result.status), use(result.result), use(result.time);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::vector<StepResultRecord>> SociStepResultTable::List(absl::string_view run_id,
                                                                        absl::string_view node) {
  return Guard(
      context_.path, "step_results.List", [&]() -> absl::StatusOr<std::vector<StepResultRecord>> {
        StepResultRecord row;
        const std::string run_key(run_id), node_key(node);
        soci::statement statement =
            (context_.session.prepare
                 << "SELECT run_id, node, play_index, step_id, sequence, status, result, time "
                    "FROM step_results WHERE run_id = :run AND (:node = '' OR node = :same) "
                    "ORDER BY sequence",
             into(row.run_id), into(row.node), into(row.play_index), into(row.step_id),
             into(row.sequence), into(row.status), into(row.result), into(row.time), use(run_key),
             use(node_key), use(node_key));
        return ReadAll(statement, row);
      });
}

}  // namespace muster::controller
