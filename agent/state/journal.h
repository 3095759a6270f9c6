// The agent's memory of what it was told to do, what it is doing and what the controller does not
// know yet.
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

// Append-only file of records, replayed when it is opened. What a call recorded durably survives
// kill -9 and a power cut; what it recorded lazily survives kill -9, and its report is not handed
// out before it is durable. Thread-safe; every call that writes may block on the disk.
class Journal {
 public:
  struct Options {
    // Of the journal's files; must exist. See paths.h.
    std::string directory;
    // The identity under which sequences count. When it differs from the journal's, plans and
    // reports of the old one are dropped; dirty handlers belong to the machine and stay.
    std::string node_uuid;
    // Called before each append; an error is what a full disk would be. For tests; empty: none.
    std::function<absl::Status()> failpoint = {};
  };
  enum class Durability { kLazy, kDurable };

  // Locks the journal (FailedPrecondition: another agent has it) and replays it. A torn tail is
  // cut off; of a damaged journal what precedes the damage is kept, and damage.txt describes the
  // rest without its contents. Both are told by opening_note(), and so is a disk that is too full
  // to write the journal anew: one that is whole is used as it is. Errors name the file and the
  // remedy.
  static absl::StatusOr<std::unique_ptr<Journal>> Open(Options options, Clock& clock);

  // What the opening found amiss; empty: nothing.
  const std::string& opening_note() const { return opening_note_; }

  // What is recorded. Each error leaves the journal as it was before the call: nothing is ever
  // half-recorded. Durable unless said otherwise.
  absl::Status AcceptPlan(const v1::Plan& plan);
  absl::Status RequestCancel(absl::string_view plan_id);
  absl::Status RecordIntent(const v1::StepIntent& intent);
  // Makes a report of it. `clean_handler` may be empty.
  absl::Status RecordOutcome(absl::string_view plan_id, const v1::StepResult& result,
                             absl::string_view clean_handler, Durability durability);
  absl::Status ArmReboot(const v1::RebootArmed& armed);
  absl::Status FinishPlan(absl::string_view plan_id, const v1::PlanOutcome& outcome);
  // The controller has the reports up to that sequence. Compacts when no report is left, if the
  // disk has room.
  absl::Status ReportsStored(uint64_t up_to_sequence);
  // Makes durable what was recorded lazily.
  absl::Status Sync();

  uint64_t highest_plan_sequence() const;
  // The plan that is next in the order of sequences, with what is known of its steps.
  std::optional<ActivePlan> NextPlan() const;
  // All plans that are not over, in that order.
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
  // Earlier agents copied damaged journals aside, whole: with secrets that were to be forgotten.
  void RemoveCopies();
  // Broken when the new file is there and may vanish by a power cut; otherwise an error leaves
  // the old one.
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
