// The agent's memory of its orders, its current work and the reports that the controller does not
// have yet.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/state/journal_state.h"
#include "common/base/clock.h"
#include "common/sys/unique_fd.h"
#include "muster/v1/journal.pb.h"

namespace muster::agent {

// Append-only file of records, replayed when it is opened. Data that a call recorded durably
// survives kill -9 and a power cut; data recorded lazily survives kill -9, and its report is not
// handed out before it is durable. Thread-safe; every call that writes may block on the disk.
class Journal {
 public:
  struct Options {
    // The folder of the journal's files; must exist. See paths.h.
    std::string directory;
    // The identity under which sequences count. When it differs from the journal's, plans and
    // reports of the old one are dropped; dirty handlers belong to the machine and stay.
    std::string node_uuid;
    // Called before each append; its error stands for a full disk. For tests; empty: none.
    std::function<absl::Status()> failpoint = {};
  };
  enum class Durability { kLazy, kDurable };

  // Locks the journal (FailedPrecondition: another agent has it) and replays it. A torn tail is cut
  // off; of a damaged journal the part before the damage is kept, and damage.txt describes the rest
  // without its contents. opening_note() reports both, and also a disk that is too full to rewrite
  // the journal: it is then used as it is, up to its last good record, and damage.txt may be
  // missing. Errors name the file and the remedy.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(Options options, Clock& clock);

  // Problems found when opening; empty: none.
  const std::string& opening_note() const { return opening_note_; }

  // Recording. Each error leaves the journal as it was before the call: nothing is ever
  // half-recorded. Durable unless said otherwise.
  absl::Status AcceptPlan(const v1::Plan& plan);
  absl::Status RequestCancel(absl::string_view plan_id);
  absl::Status RecordIntent(const v1::StepIntent& intent);
  // Makes a report of the outcome. `clean_handler` may be empty.
  absl::Status RecordOutcome(absl::string_view plan_id, const v1::StepResult& result,
                             absl::string_view clean_handler, Durability durability);
  absl::Status ArmReboot(const v1::RebootArmed& armed);
  absl::Status FinishPlan(absl::string_view plan_id, const v1::PlanOutcome& outcome);
  // The controller has stored the reports up to that sequence. Compacts when no report is left, if
  // the disk has room.
  absl::Status ReportsStored(uint64_t up_to_sequence);
  // Makes lazily recorded data durable.
  absl::Status Sync();

  uint64_t highest_plan_sequence() const;
  // The next plan in the order of sequences, with the known state of its steps.
  std::optional<ActivePlan> NextPlan() const;
  // All unfinished plans, in that order.
  std::vector<std::shared_ptr<const v1::Plan>> UnfinishedPlans() const;
  bool IsActive(absl::string_view plan_id) const;
  std::optional<v1::Report> FindFinished(absl::string_view plan_id) const;
  bool IsCancelRequested(absl::string_view plan_id) const;
  bool IsDirty(absl::string_view handler_id) const;
  // Up to `limit` durable reports above the sequence that the controller has not acknowledged.
  std::vector<v1::Report> ReportsAfter(uint64_t sequence, size_t limit) const;
  // True after an error that only opening the journal again can cure.
  bool broken() const;

 private:
  Journal(Options options, Clock& clock, sys::UniqueFd lock);

  absl::Status Replay();
  // Earlier agents copied damaged journals aside, whole: with secrets that had to be forgotten.
  void RemoveCopies();
  // Broken if the new file exists but may vanish in a power cut; otherwise an error leaves the old
  // one.
  absl::Status WriteNewFile(const std::vector<v1::JournalRecord>& records)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Append(const v1::JournalRecord& record, Durability durability)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SyncLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CompactIfSettled() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status UseNewIdentity() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t FreshReportSequence() const;
  std::string JournalPath() const { return options_.directory + "/journal"; }

  const Options options_;
  Clock& clock_;
  const sys::UniqueFd lock_;
  std::string opening_note_;

  mutable absl::Mutex mutex_;
  sys::UniqueFd file_ ABSL_GUARDED_BY(mutex_);
  JournalState state_ ABSL_GUARDED_BY(mutex_);
  uint64_t size_ ABSL_GUARDED_BY(mutex_) = 0;             // bytes of whole records in the file
  uint64_t durable_reports_ ABSL_GUARDED_BY(mutex_) = 0;  // reports below this sequence are safe
  bool unsynced_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
