// The tables of validations and their rows; included by tables.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// A suite over some nodes.
struct ValidationRecord {
  enum State { kRunning = 1, kDone = 2, kCancelled = 3 };  // as v1::ValidationState
  std::string validation_id;
  State state = kRunning;
  std::string suite;
  std::string suite_digest;
  std::string request;  // a serialized v1::CreateValidationRequest
  std::string created_by;
  absl::Time created_at;
  std::optional<absl::Time> finished_at;
  uint64_t inventory_revision = 0;
  std::string pair_seed;  // the keys of checks between nodes are derived from it
  std::string message;    // why it was cancelled or could not continue
  std::string blames;     // a serialized v1::Validation with `blames` alone
};

// The state and verdict of one node in a validation.
struct ValidationNodeRecord {
  std::string validation_id;
  std::string node;
  std::string node_uuid;
  int outcome = 0;      // v1::Outcome
  std::string verdict;  // a serialized v1::NodeVerdict; "": none yet
  std::string found;    // a serialized v1::FoundHardware; putting "" keeps it. "": earlier version
  bool is_witness = false;  // borrowed for checks between nodes; the first value is kept
};

class ValidationTable {
 public:
  virtual ~ValidationTable() = default;
  // Inserts or replaces by id.
  virtual absl::Status Put(const ValidationRecord& validation) = 0;
  virtual absl::StatusOr<ValidationRecord> Get(absl::string_view validation_id) = 0;
  // Newest first. `node` empty: any node.
  virtual absl::StatusOr<std::vector<ValidationRecord>> List(uint32_t limit,
                                                             absl::string_view node) = 0;
  virtual absl::StatusOr<std::vector<ValidationRecord>> ListRunning() = 0;
  virtual absl::Status PutNode(const ValidationNodeRecord& node) = 0;
  // In the order in which they were first put.
  virtual absl::StatusOr<std::vector<ValidationNodeRecord>> ListNodes(
      absl::string_view validation_id) = 0;
};

// A check on one node, as CheckPart of controller/validation/schedule/validation_state.h.
struct ValidationCheckRecord {
  std::string check_id;
  std::string validation_id;
  std::string execution_id;
  std::string node;
  std::string members;  // nodes by rank, separated by blanks
  uint32_t rank = 0;
  uint32_t stage = 0;
  uint32_t stage_check = 0;
  std::string stage_name;
  std::string name;  // of the check
  int phase = 0;
  int outcome = 0;
  std::string reason;
  bool put_back = false;
  std::optional<absl::Time> started_at;
  // See controller/validation/verdict/circumstances.h; "": stored by an earlier version.
  std::string parameters_digest;
};

// The report of a check.
struct CheckResultRecord {
  std::string check_id;
  absl::Time reported_at;
  std::string result;  // see controller/validation/verdict/result_blob.h
  // On the result by itself: serialized v1::CheckVerdict. "": stored by an earlier version.
  std::string verdict;
};

struct CheckHistoryQuery {
  std::string node;
  std::string name;               // of the check
  std::string parameters_digest;  // of the measurements
  // Excludes this one, and those in which another machine had the node's name than in this one.
  std::string before_validation_id;
  uint32_t limit = 20;
  uint32_t skip = 0;  // skips so many first
  bool oldest_first = false;
};

// A result of a check that passed, on a node that passed.
struct GoodResultRecord {
  int64_t place = 0;  // in the order in which checks were stored
  std::string node;
  std::string members;
  std::string name;  // of the check
  std::string parameters_digest;
  absl::Time reported_at;
  std::string result;
};

class ValidationCheckTable {
 public:
  virtual ~ValidationCheckTable() = default;
  // Inserts or replaces by id.
  virtual absl::Status Put(const ValidationCheckRecord& check) = 0;
  virtual absl::StatusOr<std::vector<ValidationCheckRecord>> List(
      absl::string_view validation_id) = 0;
  // Changes only the outcome of a check that was put.
  virtual absl::Status SetOutcome(absl::string_view check_id, int outcome) = 0;
  // For a check that was put. The first result counts: a later one changes nothing.
  virtual absl::Status PutResult(const CheckResultRecord& result) = 0;
  // NotFound: it has not reported.
  virtual absl::StatusOr<CheckResultRecord> GetResult(absl::string_view check_id) = 0;
  // Results of checks that passed with the same parameters, newest first unless the query says
  // otherwise: failed ones are not a reference. Without verdicts.
  virtual absl::StatusOr<std::vector<CheckResultRecord>> History(
      const CheckHistoryQuery& query) = 0;
  // The good results of a validation that ended, after `after_place` (0: from the first), at most
  // `limit`.
  virtual absl::StatusOr<std::vector<GoodResultRecord>> ListGood(absl::string_view validation_id,
                                                                 int64_t after_place,
                                                                 uint32_t limit) = 0;
  // Removes results from before `time`, at most `max_rows`; returns how many.
  virtual absl::StatusOr<uint64_t> RemoveResults(absl::Time time, uint32_t max_rows) = 0;
};

// A record that a node has passed a suite, with the hardware and software that it had then.
struct NodePassRecord {
  std::string node_uuid;
  std::string validation_id;
  std::string suite;
  std::string suite_digest;
  std::string gpu_uuids;  // sorted, separated by blanks
  std::string driver_version;
  std::string kernel;
  absl::Time passed_at;
};

// The state of a node between Slurm and the tests.
struct NodeServiceRecord {
  std::string node_uuid;
  int state = 0;           // ServiceState of controller/gate/service_state.h
  std::string drained_by;  // the validation or condition that drained it; "": no drain of ours
  absl::Time changed_at;
};

class NodeServiceTable {
 public:
  virtual ~NodeServiceTable() = default;
  // A node has one pass at most: the newest.
  virtual absl::Status PutPass(const NodePassRecord& pass) = 0;
  virtual absl::Status RemovePass(absl::string_view node_uuid) = 0;
  // NotFound: it has none.
  virtual absl::StatusOr<NodePassRecord> GetPass(absl::string_view node_uuid) = 0;
  virtual absl::Status PutService(const NodeServiceRecord& service) = 0;
  virtual absl::Status RemoveService(absl::string_view node_uuid) = 0;
  virtual absl::StatusOr<std::vector<NodeServiceRecord>> ListServices() = 0;
};

}  // namespace muster::controller
