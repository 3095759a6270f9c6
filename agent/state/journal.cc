#include "agent/state/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/state/journal_codec.h"
#include "agent/state/journal_damage.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

absl::Status WriteAll(int fd, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoStatus(errno, absl::StrCat("writing ", path));
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  std::string bytes;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus(errno, absl::StrCat("reading ", path));
    if (got == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status SyncDirectory(const std::string& path) {
  const sys::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid() || ::fsync(directory.get()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("syncing ", path));
  }
  return absl::OkStatus();
}

// Writes a whole file durably under a temporary name and moves it into place; the move is durable
// once the directory is synced. Returns the descriptor, positioned at the end.
absl::StatusOr<sys::UniqueFd> ReplaceFile(const std::string& path, absl::string_view bytes) {
  const std::string temporary = path + ".new";
  sys::UniqueFd file(
      ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoStatus(errno, absl::StrCat("creating ", temporary));
  absl::Status status = WriteAll(file.get(), bytes, temporary);
  if (status.ok() && ::fsync(file.get()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("syncing ", temporary));
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = ErrnoStatus(errno, absl::StrCat("renaming ", temporary));
  }
  if (!status.ok()) {
    ::unlink(temporary.c_str());
    return status;
  }
  return file;
}

absl::Status CannotOpen(const absl::Status& status, const std::string& directory) {
  return absl::Status(status.code(),
                      absl::StrCat("the agent's journal cannot be opened: ", status.message(),
                                   "; check that the file system has room (`df -h ", directory,
                                   "`), is writable (`findmnt -T ", directory,
                                   "`) and sound (`dmesg`); the agent tries again"));
}

}  // namespace

Journal::Journal(Options options, Clock& clock, sys::UniqueFd lock)
    : options_(std::move(options)), clock_(clock), lock_(std::move(lock)) {}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(Options options, Clock& clock) {
  const std::string lock_path = options.directory + "/lock";
  sys::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    return CannotOpen(ErrnoStatus(errno, absl::StrCat("opening ", lock_path)), options.directory);
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        lock_path,
        " is locked: another muster-agent is running (`systemctl status muster-agent`)"));
  }
  std::unique_ptr<Journal> journal(new Journal(std::move(options), clock, std::move(lock)));
  const absl::Status replayed = journal->Replay();
  if (!replayed.ok()) return CannotOpen(replayed, journal->options_.directory);
  return journal;
}

uint64_t Journal::FreshReportSequence() const {
  return static_cast<uint64_t>(std::max<int64_t>(1, absl::ToUnixMillis(clock_.Now())));
}

absl::Status Journal::Replay() {
  absl::MutexLock lock(&mutex_);
  const std::string path = JournalPath();
  file_ = sys::UniqueFd(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  if (!file_.valid() && errno != ENOENT) return ErrnoStatus(errno, absl::StrCat("opening ", path));
  std::string bytes;
  if (file_.valid()) {
    ASSIGN_OR_RETURN(bytes, ReadAll(file_.get(), path));
  }
  const DecodedJournal decoded = DecodeJournal(bytes);
  for (const v1::JournalRecord& record : decoded.records) state_.Apply(record);
  size_ = decoded.good_bytes;
  const bool must_rewrite = decoded.records.empty() || !decoded.records.front().has_snapshot();
  if (decoded.end == JournalEnd::kTorn) {
    opening_note_ = absl::StrCat(path, ": ", decoded.problem, " and is dropped");
  } else if (decoded.end == JournalEnd::kDamaged) {
    const std::string description = options_.directory + "/damage.txt";
    const absl::Status described =
        ReplaceFile(description, DescribeDamage(bytes, decoded)).status();
    if (!described.ok() && !absl::IsResourceExhausted(described)) return described;
    opening_note_ = absl::StrCat(path, ": ", decoded.problem, "; ",
                                 described.ok() ? absl::StrCat(description, " has details")
                                                : std::string(described.message()),
                                 "; work continues from the records before it");
  }
  RemoveCopies();
  if (state_.node_uuid != options_.node_uuid) return UseNewIdentity();
  // Even if the journal is undamaged: on a disk that was restored from a snapshot it comes from the
  // past, and the controller takes no report under a sequence that it has seen.
  state_.next_report_sequence = std::max(state_.next_report_sequence, FreshReportSequence());
  // Even if the journal is undamaged: after a failed sync, the data read above may exist only in
  // the kernel's memory, and no later sync would write it.
  const absl::Status written = WriteNewFile(state_.Snapshot());
  if (written.ok()) return absl::OkStatus();
  if (must_rewrite || !broken_.ok()) return written;
  absl::StrAppend(&opening_note_, opening_note_.empty() ? "" : "; ", path,
                  " remains in use without compaction: ", written.message());
  // What is behind the good records would hide all that are appended. Cutting it off needs no room.
  if (size_ < bytes.size() && ::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return ErrnoStatus(errno, absl::StrCat("cutting off ", path));
  unsynced_ = true;
  return SyncLocked();
}

void Journal::RemoveCopies() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(options_.directory, error)) {
    const std::string path = entry.path().string();
    if (!absl::StartsWith(entry.path().filename().string(), "journal.damaged-")) continue;
    const bool removed = ::unlink(path.c_str()) == 0;
    absl::StrAppend(
        &opening_note_, opening_note_.empty() ? "" : "; ", path,
        removed ? ", the copy of a damaged journal with the secrets of its plans, was removed"
                : " contains secrets and cannot be removed: remove it by hand");
  }
}

absl::Status Journal::UseNewIdentity() {
  JournalState fresh;
  fresh.node_uuid = options_.node_uuid;
  fresh.dirty_handlers = state_.dirty_handlers;
  fresh.next_report_sequence = FreshReportSequence();
  state_ = std::move(fresh);
  return WriteNewFile(state_.Snapshot());
}

absl::Status Journal::WriteNewFile(const std::vector<v1::JournalRecord>& records) {
  std::string bytes;
  for (const v1::JournalRecord& record : records) bytes += FrameRecord(record);
  ASSIGN_OR_RETURN(sys::UniqueFd file, ReplaceFile(JournalPath(), bytes));
  file_ = std::move(file);
  size_ = bytes.size();
  // A power cut may bring back the old file, without the data appended to the new one.
  broken_ = SyncDirectory(options_.directory);
  RETURN_IF_ERROR(broken_);
  unsynced_ = false;
  durable_reports_ = state_.next_report_sequence;
  state_.finished_since_snapshot = 0;
  return absl::OkStatus();
}

absl::Status Journal::Append(const v1::JournalRecord& record, Durability durability) {
  RETURN_IF_ERROR(broken_);
  if (options_.failpoint) RETURN_IF_ERROR(options_.failpoint());
  const std::string frame = FrameRecord(record);
  if (frame.size() > kMaxRecordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a record of ", frame.size(), " bytes is too large for the journal"));
  }
  const absl::Status written = WriteAll(file_.get(), frame, JournalPath());
  if (!written.ok()) {
    // Half a record would hide all records after it.
    if (::ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) {
      broken_ = ErrnoStatus(errno, absl::StrCat("cutting off ", JournalPath()));
    }
    return written;
  }
  unsynced_ = true;
  if (durability == Durability::kDurable) {
    const absl::Status synced = SyncLocked();
    if (!synced.ok()) {
      // A record whose caller got an error must not come back when the journal is opened again.
      (void)!::ftruncate(file_.get(), static_cast<off_t>(size_));
      return synced;
    }
  }
  size_ += frame.size();
  state_.Apply(record);
  if (durability == Durability::kDurable) durable_reports_ = state_.next_report_sequence;
  return absl::OkStatus();
}

absl::Status Journal::SyncLocked() {
  RETURN_IF_ERROR(broken_);
  if (!unsynced_) return absl::OkStatus();
  if (::fdatasync(file_.get()) != 0) {
    // The kernel may have dropped the pages: from here on the content of the disk is unknown.
    broken_ = ErrnoStatus(errno, absl::StrCat("syncing ", JournalPath()));
    return broken_;
  }
  unsynced_ = false;
  durable_reports_ = state_.next_report_sequence;
  return absl::OkStatus();
}

absl::Status Journal::CompactIfSettled() {
  if (state_.finished_since_snapshot == 0 || !state_.unacknowledged.empty()) {
    return absl::OkStatus();
  }
  return WriteNewFile(state_.Snapshot());
}

absl::Status Journal::AcceptPlan(const v1::Plan& plan) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  *record.mutable_plan_accepted()->mutable_plan() = plan;
  return Append(record, Durability::kDurable);
}

absl::Status Journal::RequestCancel(absl::string_view plan_id) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  record.mutable_plan_cancel_requested()->set_plan_id(std::string(plan_id));
  return Append(record, Durability::kDurable);
}

absl::Status Journal::RecordIntent(const v1::StepIntent& intent) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  *record.mutable_step_intent() = intent;
  return Append(record, Durability::kDurable);
}

absl::Status Journal::RecordOutcome(absl::string_view plan_id, const v1::StepResult& result,
                                    absl::string_view clean_handler, Durability durability) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  v1::StepOutcome& outcome = *record.mutable_step_outcome();
  outcome.mutable_report()->set_report_sequence(state_.next_report_sequence);
  outcome.mutable_report()->set_plan_id(std::string(plan_id));
  *outcome.mutable_report()->mutable_step() = result;
  outcome.set_clean_handler(std::string(clean_handler));
  return Append(record, durability);
}

absl::Status Journal::ArmReboot(const v1::RebootArmed& armed) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  *record.mutable_reboot_armed() = armed;
  return Append(record, Durability::kDurable);
}

absl::Status Journal::FinishPlan(absl::string_view plan_id, const v1::PlanOutcome& outcome) {
  absl::MutexLock lock(&mutex_);
  v1::JournalRecord record;
  v1::Report& report = *record.mutable_plan_finished()->mutable_report();
  report.set_report_sequence(state_.next_report_sequence);
  report.set_plan_id(std::string(plan_id));
  *report.mutable_outcome() = outcome;
  return Append(record, Durability::kDurable);
}

absl::Status Journal::ReportsStored(uint64_t up_to_sequence) {
  absl::MutexLock lock(&mutex_);
  if (state_.unacknowledged.empty() ||
      state_.unacknowledged.front().report_sequence() > up_to_sequence) {
    return absl::OkStatus();
  }
  v1::JournalRecord record;
  record.mutable_reports_stored()->set_up_to_sequence(
      std::min(up_to_sequence, durable_reports_ - 1));
  // If a power cut loses it, it is repeated: the reports are sent once more and acknowledged again.
  RETURN_IF_ERROR(Append(record, Durability::kLazy));
  // It is recorded. If it cannot be compacted now, on a full disk, a later plan will do it.
  CompactIfSettled().IgnoreError();
  return broken_;
}

absl::Status Journal::Sync() {
  absl::MutexLock lock(&mutex_);
  return SyncLocked();
}

uint64_t Journal::highest_plan_sequence() const {
  absl::MutexLock lock(&mutex_);
  return state_.highest_plan_sequence;
}

std::optional<ActivePlan> Journal::NextPlan() const {
  absl::MutexLock lock(&mutex_);
  if (state_.active.empty()) return std::nullopt;
  return state_.active.begin()->second;
}

std::vector<std::shared_ptr<const v1::Plan>> Journal::UnfinishedPlans() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const v1::Plan>> plans;
  for (const auto& [sequence, active] : state_.active) plans.push_back(active.plan);
  return plans;
}

bool Journal::IsActive(absl::string_view plan_id) const {
  absl::MutexLock lock(&mutex_);
  return state_.FindActive(std::string(plan_id)) != nullptr;
}

std::optional<v1::Report> Journal::FindFinished(absl::string_view plan_id) const {
  absl::MutexLock lock(&mutex_);
  const v1::PlanFinished* plan = state_.FindFinished(std::string(plan_id));
  if (plan == nullptr) return std::nullopt;
  return plan->report();
}

bool Journal::IsCancelRequested(absl::string_view plan_id) const {
  absl::MutexLock lock(&mutex_);
  const ActivePlan* plan = state_.FindActive(std::string(plan_id));
  return plan != nullptr && plan->cancel_requested;
}

bool Journal::IsDirty(absl::string_view handler_id) const {
  absl::MutexLock lock(&mutex_);
  return state_.dirty_handlers.count(std::string(handler_id)) > 0;
}

std::vector<v1::Report> Journal::ReportsAfter(uint64_t sequence, size_t limit) const {
  absl::MutexLock lock(&mutex_);
  std::vector<v1::Report> reports;
  for (const v1::Report& report : state_.unacknowledged) {
    if (reports.size() == limit || report.report_sequence() >= durable_reports_) break;
    if (report.report_sequence() > sequence) reports.push_back(report);
  }
  return reports;
}

bool Journal::broken() const {
  absl::MutexLock lock(&mutex_);
  return !broken_.ok();
}

}  // namespace muster::agent
