// Statements that SQLite parses once and that run thousands of times a second.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "controller/store/soci/headers.h"
#include "controller/store/tables.h"

namespace muster::controller {

// One statement with the rows that it reads its values from and writes its answer to. SOCI binds
// their addresses, so it must never move.
template <typename Values, typename Row = Values>
class SociStatement {
 public:
  SociStatement() = default;
  SociStatement(const SociStatement&) = delete;
  SociStatement& operator=(const SociStatement&) = delete;

  Values values = {};
  Row row = {};

  // Runs the statement, prepared by `prepare` the first time; true when it returned a row. Throws
  // as SOCI does; the next call then prepares it again.
  template <typename Prepare>
  bool Run(Prepare&& prepare) {
    return Guarded(prepare, [&] {
      const bool found = statement_->execute(true);
      if (found) statement_->fetch();  // to the end: an open cursor would keep its snapshot
      return found;
    });
  }
  // As Run(), for all rows.
  template <typename Prepare>
  std::vector<Row> RunAll(Prepare&& prepare) {
    return Guarded(prepare, [&] {
      std::vector<Row> rows;
      statement_->execute();
      while (statement_->fetch()) rows.push_back(row);
      return rows;
    });
  }
  // How many rows the last Run() has changed.
  int64_t affected_rows() const { return statement_->get_affected_rows(); }

 private:
  template <typename Prepare, typename Use>
  auto Guarded(Prepare& prepare, Use&& use) {
    if (statement_ == nullptr) statement_ = std::make_unique<soci::statement>(prepare());
    try {
      return use();
    } catch (...) {
      statement_.reset();
      throw;
    }
  }

  std::unique_ptr<soci::statement> statement_;
};

struct StepKeyRow {
  std::string run_id, node, step_id;
  uint32_t play_index = 0;
  int status = 0;
};

struct SequencesRow {
  std::string uuid;
  uint64_t plan = 0, report = 0;
};

struct TouchRow {
  std::string uuid;
  NodeTouch touch;
};

struct FactsRow {
  std::string uuid, facts;
};

struct HistoryKeys {
  std::string node, name, parameters_digest, before_validation_id;
  int64_t limit = 0, skip = 0;
};

// Used by one transaction at a time, like the session.
class SociStatements {
 public:
  SociStatement<std::string, NodeRecord> get_node;
  SociStatement<std::string, NodeRecord> get_node_by_name;
  SociStatement<NodeRecord> put_node;
  SociStatement<SequencesRow> set_sequences;
  SociStatement<TouchRow> touch_node;
  SociStatement<std::string> get_facts;
  SociStatement<FactsRow> put_facts;
  SociStatement<OpenPlanRecord> put_plan;
  SociStatement<OpenPlanRecord> trim_plans;
  SociStatement<OpenPlanRecord> remove_plans;
  SociStatement<RunNodeRecord> put_run_node;
  SociStatement<StepResultRecord> put_step_result;
  SociStatement<StepResultRecord> put_new_step_result;
  SociStatement<StepKeyRow> step_status;
  SociStatement<ValidationNodeRecord> put_validation_node;
  SociStatement<ValidationCheckRecord> put_check;
  SociStatement<CheckResultRecord> put_check_result;
  SociStatement<HistoryKeys, CheckResultRecord> newest_results;
  SociStatement<HistoryKeys, CheckResultRecord> oldest_results;
  SociStatement<NodePassRecord> put_pass;
  SociStatement<std::string, NodePassRecord> get_pass;
};

}  // namespace muster::controller
