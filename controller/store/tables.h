// The tables of the store and their rows. Times are UTC; an absent time is std::nullopt.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/store/boot_tables.h"
#include "controller/store/health_tables.h"
#include "controller/store/notification_tables.h"
#include "controller/store/restore_tables.h"
#include "controller/store/rollout_tables.h"
#include "controller/store/validation_tables.h"

namespace muster::controller {

// NodeRecord::last_run_result of a machine that has joined again without what was applied to it, as
// one whose root is in memory does after each boot.
inline constexpr char kRunLost[] = "lost";
// Likewise of a machine that missed its last run, or did not come to its end.
inline constexpr char kRunMissed[] = "unreachable";

// A machine that has enrolled, by its random uuid. A name may have had several machines over time;
// at most one of them is not kRemoved.
struct NodeRecord {
  enum State { kPending = 1, kEnrolled = 2, kConfigured = 3, kRemoved = 4 };
  std::string uuid;
  std::string name;
  State state = kPending;
  std::string description;  // the machine's own description when it enrolled
  std::string agent_version;
  std::string boot_id;
  std::string earlier_boots;  // the few before boot_id, newest last, separated by blanks
  std::optional<absl::Time> enrolled_at;
  std::optional<absl::Time> last_seen_at;
  uint64_t plan_sequence = 0;    // of the newest plan made for the node
  uint64_t report_sequence = 0;  // of the newest report stored from the node
  std::string last_run_id;
  std::string last_run_result;  // ok, changed, failed, cancelled, kRunMissed, kRunLost
  std::string locked_because;   // why this machine is shut out; empty: it is not locked
  // SHA-256 of the endorsement key by which the machine joined; empty: by a token alone.
  std::string endorsement_key;
};

// The columns of NodeRecord that a node's sessions change.
struct NodeTouch {
  absl::Time last_seen_at;
  std::string boot_id;
  std::string earlier_boots;
  std::string agent_version;
};

// A node's newest report of facts, when it broke the rules.
struct FactsRefusal {
  std::string node_uuid;
  std::string why;  // never empty
  absl::Time at;
};

class NodeTable {
 public:
  virtual ~NodeTable() = default;
  virtual absl::StatusOr<NodeRecord> Get(absl::string_view uuid) = 0;
  // The machine that holds the name now: the one that is not removed.
  virtual absl::StatusOr<NodeRecord> GetByName(absl::string_view name) = 0;
  virtual absl::StatusOr<std::vector<NodeRecord>> List() = 0;
  // Inserts or replaces by uuid.
  virtual absl::Status Put(const NodeRecord& node) = 0;
  // Both write these columns alone, since reports and plans come by the thousand, and do nothing
  // when there is no such node.
  virtual absl::Status SetSequences(absl::string_view uuid, uint64_t plan_sequence,
                                    uint64_t report_sequence) = 0;
  virtual absl::Status Touch(absl::string_view uuid, const NodeTouch& touch) = 0;

  // The last facts that the node reported, a serialized v1::Facts; "": none yet.
  virtual absl::StatusOr<std::string> Facts(absl::string_view uuid) = 0;
  // Also ends a refusal. NotFound: no such node.
  virtual absl::Status PutFacts(absl::string_view uuid, const std::string& facts) = 0;
  // Keeps the facts of the last good report. NotFound: no such node.
  virtual absl::Status PutFactsRefusal(const FactsRefusal& refusal) = 0;
  // Covers the nodes whose newest facts were refused, which are few.
  virtual absl::StatusOr<std::vector<FactsRefusal>> ListFactsRefusals() = 0;
  // Calls `fn` with the name and the facts of each node that has reported any and is not removed.
  virtual absl::Status ForEachFacts(
      absl::FunctionRef<void(const std::string& name, const std::string& facts)> fn) = 0;
};

// A plan whose end its node has not reported.
struct OpenPlanRecord {
  std::string node_uuid;
  std::string plan_id;
  uint64_t sequence = 0;
  std::string blobs;  // contents that it names: SHA-256s separated by blanks
};

class OpenPlanTable {
 public:
  // The number of plans that are kept for a node that never reports an end.
  static constexpr int kMaxPerNode = 8;

  virtual ~OpenPlanTable() = default;
  // Inserts or replaces by node and plan; removes the oldest above kMaxPerNode.
  virtual absl::Status Put(const OpenPlanRecord& plan) = 0;
  virtual absl::StatusOr<std::vector<OpenPlanRecord>> List(absl::string_view node_uuid) = 0;
  // Removes the node's plans up to the one with this id, by their sequence: a node works on one
  // after the other. Does nothing when there is no such plan.
  virtual absl::Status RemoveUpTo(absl::string_view node_uuid, absl::string_view plan_id) = 0;
};

struct CertificateRecord {
  std::string serial;     // lower-case hex
  std::string node_uuid;  // empty: a user's
  std::string user;       // empty: a node's
  std::string role;       // node, viewer, operator, admin
  absl::Time not_before;
  absl::Time not_after;
  std::optional<absl::Time> revoked_at;
  // When the authority that signed it expires: a denied certificate stays denied until then.
  absl::Time authority_ends = absl::InfiniteFuture();
  // The pin of that authority, and the digest of the roots that were issued with the certificate.
  // Empty: stored before these columns existed.
  std::string signed_by;
  std::string roots;
  // For a person's certificate: the serial of the one that it was renewed from.
  std::string replaces;
  // For a node's certificate: its place in the line, when it was first used and from where. See
  // key_line.h.
  uint64_t generation = 0;
  std::optional<absl::Time> used_at;
  std::string used_from;
};

// A person who was revoked.
struct DeniedUserRecord {
  std::string name;
  absl::Time denied_before;  // certificates that were signed until then are denied
};

class CertificateTable {
 public:
  virtual ~CertificateTable() = default;
  virtual absl::Status Insert(const CertificateRecord& certificate) = 0;
  virtual absl::StatusOr<CertificateRecord> Get(absl::string_view serial) = 0;
  virtual absl::StatusOr<std::vector<CertificateRecord>> ListByNode(absl::string_view uuid) = 0;
  // People's certificates, oldest first.
  virtual absl::StatusOr<std::vector<CertificateRecord>> ListUsers() = 0;
  // Uuid and name, ordered by name, of the members that have not shown a certificate that was
  // issued by that authority with those roots: counts the newest that was shown, or else that of
  // the join if the node has ever connected.
  virtual absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListNodesBehind(
      absl::string_view signed_by, absl::string_view roots) = 0;
  // The certificate that was signed last. NotFound: there is none.
  virtual absl::StatusOr<CertificateRecord> Newest() = 0;
  virtual absl::Status MarkUsed(absl::string_view serial, absl::Time now,
                                absl::string_view from) = 0;
  virtual absl::Status RevokeByNode(absl::string_view uuid, absl::Time now) = 0;
  // Denies everything that was signed for the name until now, also what this table does not have.
  virtual absl::Status RevokeByUser(absl::string_view user, absl::Time now) = 0;
  // Serials of revoked certificates, whether they have expired or not: the denylist.
  virtual absl::StatusOr<std::vector<std::string>> ListDenied() = 0;
  // The people of whom RevokeByUser() was told, by name, with the latest time.
  virtual absl::StatusOr<std::vector<DeniedUserRecord>> ListDeniedUsers() = 0;
  // Removes certificates of nodes that expired before `nodes`, and of people that expired before
  // `people`, revoked ones only when their authority has expired too; returns how many.
  virtual absl::StatusOr<uint64_t> RemoveExpired(absl::Time nodes, absl::Time people) = 0;
};

struct TokenRecord {
  std::string token_id;
  std::string hash;  // SHA-256 of the token, hex; the token itself is never stored
  std::string node_name;
  bool require_approval = false;
  std::string created_by;
  absl::Time created_at;
  absl::Time expires_at;
  std::optional<absl::Time> used_at;
  std::optional<absl::Time> revoked_at;
  std::string endorsement_key;  // of the machine for which alone it was sealed; empty: for any
  std::string requested_from;   // the address that asked for it; empty: a person made it
  // With which it has to be used, because the machine that has it was recognized; empty: any.
  std::string node_uuid;
};

class TokenTable {
 public:
  virtual ~TokenTable() = default;
  virtual absl::Status Insert(const TokenRecord& token) = 0;
  virtual absl::StatusOr<TokenRecord> GetByHash(absl::string_view hash) = 0;
  virtual absl::StatusOr<std::vector<TokenRecord>> List() = 0;
  // Those that machines have asked for themselves, to join under the name, and have not used; the
  // oldest first.
  virtual absl::StatusOr<std::vector<TokenRecord>> ListRequested(absl::string_view node_name) = 0;
  // How many such tokens there are of all names, for enrollments that need an approval.
  virtual absl::StatusOr<uint64_t> CountRequested() = 0;
  // Those of them, used or not, that have expired.
  virtual absl::Status DeleteRequested(absl::Time now) = 0;
  virtual absl::Status Delete(absl::string_view token_id) = 0;
  virtual absl::Status MarkUsed(absl::string_view token_id, absl::Time now) = 0;
  virtual absl::Status Revoke(absl::string_view token_id, absl::Time now) = 0;
};

// An enrollment that waits for an administrator.
struct EnrollmentRecord {
  std::string enrollment_id;
  std::string token_hash;
  std::string node_uuid;
  std::string node_name;
  std::string csr_pem;
  std::string description;
  std::string peer;
  absl::Time requested_at;
  std::string certificate_pem;  // set once approved
  bool rejected = false;
  std::string endorsement_key;  // of its token
  bool requested = false;       // the machine had asked for its token itself
};

class EnrollmentTable {
 public:
  virtual ~EnrollmentTable() = default;
  virtual absl::StatusOr<EnrollmentRecord> Get(absl::string_view enrollment_id) = 0;
  virtual absl::StatusOr<std::vector<EnrollmentRecord>> List() = 0;
  // Those of the name, of the machine or with the token; the oldest first.
  virtual absl::StatusOr<std::vector<EnrollmentRecord>> ListRelated(
      absl::string_view node_name, absl::string_view node_uuid, absl::string_view token_hash) = 0;
  virtual absl::Status Put(const EnrollmentRecord& enrollment) = 0;
  virtual absl::Status Delete(absl::string_view enrollment_id) = 0;
};

struct BundleRecord {
  std::string sha256;
  uint64_t size = 0;
  absl::Time created_at;
  std::string uploaded_by;  // empty: stored before this column existed
};

class BundleTable {
 public:
  virtual ~BundleTable() = default;
  // Inserts or replaces by digest; keeps the first uploader.
  virtual absl::Status Put(const BundleRecord& bundle) = 0;
  virtual absl::StatusOr<BundleRecord> Get(absl::string_view sha256) = 0;
  virtual absl::StatusOr<std::vector<BundleRecord>> List() = 0;
};

// Permission for operators to run a bundle, or one thing in it.
struct BundleApprovalRecord {
  std::string sha256;         // of the bundle
  std::string path;           // of the playbook or suite; empty: everything in the bundle
  std::string suites_digest;  // of the bundle's suites and hardware files
  std::string variables;      // names that operators may set with -e, separated by blanks
  std::string run_id;         // the run or validation that approved it; empty: approved explicitly
  std::string approved_by;
  absl::Time approved_at;
  std::string revoked_by;
  std::optional<absl::Time> revoked_at;
};

class BundleApprovalTable {
 public:
  virtual ~BundleApprovalTable() = default;
  // Inserts or replaces by bundle and path.
  virtual absl::Status Put(const BundleApprovalRecord& approval) = 0;
  // The approvals of one bundle, by path, including revoked ones.
  virtual absl::StatusOr<std::vector<BundleApprovalRecord>> List(absl::string_view sha256) = 0;
  // The approvals of all bundles, newest first, including revoked ones.
  virtual absl::StatusOr<std::vector<BundleApprovalRecord>> List() = 0;
};

struct InventoryRecord {
  uint64_t revision = 0;
  absl::Time applied_at;
  std::string applied_by;
  std::string files;  // serialized v1::ApplyInventoryRequest
};

class InventoryTable {
 public:
  virtual ~InventoryTable() = default;
  // NotFound: no inventory was applied yet.
  virtual absl::StatusOr<InventoryRecord> Latest() = 0;
  virtual absl::StatusOr<InventoryRecord> Get(uint64_t revision) = 0;
  virtual absl::Status Insert(const InventoryRecord& record) = 0;
};

// The authority on which a run is carried out.
struct RunMandate {
  std::string actor;   // "operator:bob"; empty: not known, for a run of an older version
  std::string serial;  // of the certificate that was used to ask for it
  absl::Time certificate_ends = absl::UnixEpoch();
  absl::Time asked_at = absl::UnixEpoch();  // when the run was created
};

struct RunRecord {
  enum State { kRunning = 1, kSucceeded = 2, kFailed = 3, kCancelled = 4 };
  std::string run_id;
  State state = kRunning;
  std::string request;  // serialized v1::CreateRunRequest
  std::string created_by;
  absl::Time created_at;
  std::optional<absl::Time> finished_at;
  uint64_t inventory_revision = 0;
  uint32_t current_play = 0;
  std::vector<std::string> plays;  // names
  std::string message;
  std::string catches_up_run_id;
  RunMandate mandate = {};  // for a catch-up run: that of the missed run
  // The playbook that it applies whole to nodes that somebody chose. Empty: it only checks, applies
  // the tasks of some tags, catches up nodes that missed a run, or is that of one node of a
  // rollout. Absent: not known, for a run of an older version. Stays as it was first put.
  std::optional<std::string> applies = std::nullopt;
};

// The state of one node in a run.
struct RunNodeRecord {
  std::string run_id;
  std::string node;  // name
  std::string node_uuid;
  std::string state;        // waiting, running, rebooting, done, failed, unreachable, cancelled
  uint32_t play_index = 0;  // the play that the state is about
  uint32_t ok = 0, changed = 0, failed = 0, skipped = 0;
  std::string message;
  std::string steps_digests;  // "play:digest" for runs that check or are held, separated by blanks
  uint64_t result_bytes = 0;  // of all results stored, including those that were replaced
};

class RunTable {
 public:
  virtual ~RunTable() = default;
  virtual absl::Status Put(const RunRecord& run) = 0;
  virtual absl::StatusOr<RunRecord> Get(absl::string_view run_id) = 0;
  // Newest first.
  virtual absl::StatusOr<std::vector<RunRecord>> List(uint32_t limit) = 0;
  // Calls `fn` with one run after the other, first the one that was created last, until it returns
  // false or an error, which is returned. The order is that of the first Put(), whatever the clock
  // said, so that what comes before a run is the same each time.
  virtual absl::Status ForEachFromNewest(
      absl::FunctionRef<absl::StatusOr<bool>(const RunRecord& run)> fn) = 0;
  virtual absl::StatusOr<std::vector<RunRecord>> ListRunning() = 0;
  // Those that succeeded and apply the playbook, or of which that is not known. Newest first.
  virtual absl::StatusOr<std::vector<RunRecord>> ListApplied(absl::string_view playbook,
                                                             uint32_t limit) = 0;
  virtual absl::Status PutNode(const RunNodeRecord& node) = 0;
  virtual absl::StatusOr<std::vector<RunNodeRecord>> ListNodes(absl::string_view run_id) = 0;
  // NotFound: the node has no part in the run.
  virtual absl::StatusOr<RunNodeRecord> GetNode(absl::string_view run_id,
                                                absl::string_view node) = 0;
};

// A suite that a run ends with. Written with the run's end.
struct RunValidationRecord {
  enum State {        // as v1::RunValidationState
    kWaiting = 1,     // its fate is not decided yet
    kStarted = 2,     // as `validation_id`
    kNotNeeded = 3,   // all of its nodes have passed
    kPredicted = 4,   // for a run that only checks: it would be started
    kNotStarted = 5,  // `message` says why
  };
  std::string run_id;
  uint32_t position = 0;  // in the playbook's order, from 0
  std::string play;       // name
  std::string suite;
  State state = kWaiting;
  // Host lists. While kWaiting, `nodes` are all nodes that came through the run; later, those to be
  // validated, and `passed_nodes` those that have passed with their present hardware and software.
  std::string nodes;
  std::string passed_nodes;
  std::string validation_id;
  std::string message;
};

class RunValidationTable {
 public:
  virtual ~RunValidationTable() = default;
  // Inserts or replaces by run and position.
  virtual absl::Status Put(const RunValidationRecord& row) = 0;
  // In the order of their positions.
  virtual absl::StatusOr<std::vector<RunValidationRecord>> List(absl::string_view run_id) = 0;
  // All rows that are kWaiting, of all runs.
  virtual absl::StatusOr<std::vector<RunValidationRecord>> ListWaiting() = 0;
};

// A permit to reboot that was given to a node of a run.
struct RebootRecord {
  std::string permit_id;
  std::string run_id;
  std::string node;  // name
  std::string node_uuid;
  std::string step_id;     // of the step that asks for it
  std::string request_id;  // of the agent's request
  std::string boot_id;     // of the boot that may end
  absl::Time granted_at;
  absl::Time expires_at;  // must not be started after this
  absl::Time back_by;     // the run waits until then
  // When the node came back in another boot, or the step failed without one.
  std::optional<absl::Time> ended_at;
};

// A reboot that a node needs and that a run put off.
struct PendingRebootRecord {
  std::string node_uuid;
  std::string boot_id;  // of the boot that has to end: in another one the node has rebooted
  std::string reason;
  std::string run_id;
  absl::Time since;
};

class RebootTable {
 public:
  virtual ~RebootTable() = default;
  // Inserts; for an existing permit it only sets `ended_at`.
  virtual absl::Status Put(const RebootRecord& reboot) = 0;
  // The run's open permits, oldest first.
  virtual absl::StatusOr<std::vector<RebootRecord>> ListOpen(absl::string_view run_id) = 0;
  // All permits of the run, oldest first.
  virtual absl::StatusOr<std::vector<RebootRecord>> List(absl::string_view run_id) = 0;

  // Inserts or replaces by node.
  virtual absl::Status PutPending(const PendingRebootRecord& pending) = 0;
  // Only those whose nodes are in that boot still, by the node's record; oldest first.
  virtual absl::StatusOr<std::vector<PendingRebootRecord>> ListPending() = 0;
};

struct StepResultRecord {
  std::string run_id;
  std::string node;
  uint32_t play_index = 0;
  uint64_t sequence = 0;  // of the run's events
  std::string step_id;
  int status = 0;      // v1::StepStatus
  std::string result;  // serialized v1::StepResult
  absl::Time time;
};

struct StepResultQuery {
  std::string run_id;
  std::string node;             // empty: all
  std::set<int> statuses;       // v1::StepStatus; empty: any
  uint64_t after_sequence = 0;  // only later ones
  uint32_t limit = 0;           // 0: no limit
};

class StepResultTable {
 public:
  virtual ~StepResultTable() = default;
  // Replaces an earlier result of the same {run, node, play, step}.
  virtual absl::Status Put(const StepResultRecord& result) = 0;
  // As Put(), but changes nothing and returns false where there is an earlier one. Nearly always
  // there is none, and to ask for it first would take half as long again.
  virtual absl::StatusOr<bool> PutNew(const StepResultRecord& result) = 0;
  virtual absl::StatusOr<StepResultRecord> Get(absl::string_view run_id, absl::string_view node,
                                               uint32_t play_index, absl::string_view step_id) = 0;
  // In the order of their sequence.
  virtual absl::StatusOr<std::vector<StepResultRecord>> List(const StepResultQuery& query) = 0;
  absl::StatusOr<std::vector<StepResultRecord>> List(absl::string_view run_id,
                                                     absl::string_view node) {
    StepResultQuery query;
    query.run_id = std::string(run_id);
    query.node = std::string(node);
    return List(query);
  }
  // The last results in the order of their sequence: at most `count`, whose total size is not much
  // more than `bytes`.
  virtual absl::StatusOr<std::vector<StepResultRecord>> ListNewest(absl::string_view run_id,
                                                                   uint32_t count,
                                                                   size_t bytes) = 0;
  // The status (v1::StepStatus) of the result of that step, if there is one.
  virtual absl::StatusOr<std::optional<int>> Status(absl::string_view run_id,
                                                    absl::string_view node, uint32_t play_index,
                                                    absl::string_view step_id) = 0;
  // The highest sequence of the run's results; 0: it has none.
  virtual absl::StatusOr<uint64_t> LastSequence(absl::string_view run_id) = 0;
  // Removes at most `max_rows` results: those of runs that ended before `time`, and all but the
  // newest `keep_rows`; returns how many. The runs themselves stay.
  virtual absl::StatusOr<uint64_t> RemoveOld(absl::Time time, uint64_t keep_rows,
                                             uint32_t max_rows) = 0;
};

struct SecretRecord {
  std::string name;
  uint32_t version = 1;
  std::string sealed;  // nonce ‖ ciphertext ‖ tag of AES-256-GCM, see secret_box.h
  absl::Time updated_at;
  std::string updated_by;
  std::string roles = "*";  // roles of playbooks that may read it, separated by commas; "*": all
};

class SecretTable {
 public:
  virtual ~SecretTable() = default;
  virtual absl::StatusOr<SecretRecord> Get(absl::string_view name) = 0;
  virtual absl::StatusOr<std::vector<SecretRecord>> List() = 0;
  virtual absl::Status Put(const SecretRecord& secret) = 0;
  virtual absl::Status Delete(absl::string_view name) = 0;
};

// The replacement of a secret's value by the next one.
struct RotationRecord {
  enum Phase { kStaging = 1, kSwitching = 2, kReverting = 3 };
  std::string name;  // of the secret
  Phase phase = kStaging;
  uint32_t version = 0;    // of the next value
  std::string sealed;      // the next value, as SecretRecord::sealed
  std::string playbook;    // its runs carry the rotation out
  std::string node_limit;  // the limit of those runs
  absl::Time started_at;
  std::string started_by;
  absl::Time phase_at;  // start of the current phase
};

class RotationTable {
 public:
  virtual ~RotationTable() = default;
  virtual absl::StatusOr<RotationRecord> Get(absl::string_view name) = 0;
  virtual absl::StatusOr<std::vector<RotationRecord>> List() = 0;
  // Inserts or replaces by name.
  virtual absl::Status Put(const RotationRecord& rotation) = 0;
  virtual absl::Status Delete(absl::string_view name) = 0;
};

// One entry of the audit log.
struct EventRecord {
  uint64_t sequence = 0;  // set by Append
  absl::Time time;
  std::string actor;
  std::string peer;
  std::string action;
  std::string subject;
  std::string detail;
  std::string hash;  // set by Append
};

class EventTable {
 public:
  virtual ~EventTable() = default;
  // Gives the entry the next sequence and chains it to the previous one by its hash.
  virtual absl::Status Append(EventRecord event) = 0;
  // Newest first, below `before_sequence` (0: from the newest).
  virtual absl::StatusOr<std::vector<EventRecord>> List(uint32_t limit,
                                                        uint64_t before_sequence) = 0;
  // Oldest first, above the sequence.
  virtual absl::StatusOr<std::vector<EventRecord>> ListAfter(uint64_t sequence, uint32_t limit) = 0;
  // The sequence of the first entry that does not fit its predecessor; nullopt: all fit.
  virtual absl::StatusOr<std::optional<uint64_t>> FirstBroken() = 0;
  virtual absl::StatusOr<uint64_t> Count() = 0;
};

}  // namespace muster::controller
