#include "agent/validation/check_supervisor.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <google/protobuf/util/json_util.h>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/validation/worker_output.h"
#include "agent/validation/worker_process.h"
#include "common/base/clock.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"
#include "common/sys/process/left_behind.h"
#include "common/sys/process/process_control.h"

namespace muster::agent {
namespace {

// The longest time limit that is accepted for a check, against mistakes of the controller.
constexpr absl::Duration kLongestCheck = absl::Hours(24 * 15);
// The endpoint of a check is sent again until its partners are known: updates may be lost.
constexpr absl::Duration kRepeatListening = absl::Seconds(5);
// Time for a worker to end after it has sent its result. A thread that hangs in the kernel keeps
// the process alive, and the report must not wait for that.
constexpr absl::Duration kLastSteps = absl::Seconds(5);
constexpr int kMaxSamplesKept = 1024;
constexpr size_t kMaxPeers = 65536;

}  // namespace

// A check whose worker is running. The fields without a lock belong to the check's own thread.
struct CheckSupervisor::Running {
  explicit Running(const v1::StartCheck& start) : check(start.check()), output(start.check()) {}

  const std::string check;
  v1::CheckRecord record;
  WorkerOutput output;
  sys::ProcessControl control;

  // Guarded by the supervisor's lock.
  std::thread thread;
  std::optional<v1::CheckProgress> progress;  // not yet sent
  std::optional<v1::Endpoint> listening;
  bool connected = false;  // its partners are known
  absl::Time listening_due = absl::InfinitePast();
  std::string stop_reason;
};

CheckSupervisor::CheckSupervisor(Options options, std::string directory, sys::FileSystem& files,
                                 sys::ProcessRunner& processes, Clock& clock)
    : options_(std::move(options)),
      checks_(std::move(directory), files),
      files_(files),
      processes_(processes),
      clock_(clock) {}

CheckSupervisor::~CheckSupervisor() { Shutdown("the agent was stopped"); }

absl::Status CheckSupervisor::Recover() {
  ASSIGN_OR_RETURN(std::vector<v1::CheckRecord> records, checks_.List());
  for (v1::CheckRecord& record : records) {
    if (record.has_report()) {
      absl::MutexLock lock(&mutex_);
      reports_[record.check_id()] = absl::InfinitePast();
      continue;
    }
    const bool same_boot = record.boot_id() == options_.boot_id;
    if (same_boot) sys::KillLeftBehind(record.pid(), record.pid_start_ticks(), files_);
    v1::CheckResult result;
    result.set_check(record.check());
    // Nothing of Muster's reboots a node under a check: it did not stand it.
    result.set_outcome(same_boot ? v1::OUTCOME_UNKNOWN : v1::OUTCOME_FAIL);
    result.set_reason(same_boot ? "the agent was restarted while the check ran"
                                : "the node was restarted while the check ran: it crashed, lost "
                                  "its power, or somebody rebooted it");
    Report(std::move(record), std::move(result));
  }
  return absl::OkStatus();
}

void CheckSupervisor::Start(const v1::StartCheck& check) {
  const std::string& id = check.check_id();
  if (!IsCheckId(id)) {
    options_.note("the controller started a check with an invalid id");
    return;
  }
  JoinEnded();
  const absl::Time now = clock_.Now();
  const absl::Duration limit = ToDuration(check.time_limit());
  const std::string plan = options_.active_plan();
  std::string refusal;
  std::shared_ptr<Running> running;
  {
    absl::MutexLock lock(&mutex_);
    if (running_.count(id) > 0) return;
    if (const auto report = reports_.find(id); report != reports_.end()) {
      report->second = absl::InfinitePast();
      return;
    }
    if (is_shut_down_) {
      return;  // the next agent is asked again
    } else if (!plan.empty()) {
      refusal = absl::StrCat("the node is working on plan ", plan,
                             "; checks and plans exclude each other");
    } else if (check.has_expires_at() && now > ToTime(check.expires_at())) {
      refusal = "it arrived too late; is the node's clock right?";
    } else if (limit <= absl::ZeroDuration() || limit > kLongestCheck) {
      refusal = absl::StrCat("a time limit of ", absl::FormatDuration(limit));
    } else if (running_.size() >= options_.max_running) {
      refusal = absl::StrCat(CountedAre(running_.size(), "check"), " running already");
    } else if (reports_.size() >= options_.max_reports) {
      refusal = absl::StrCat(CountedAre(reports_.size(), "report"), " waiting for the controller");
    } else {
      running = std::make_shared<Running>(check);
      running_[id] = running;
    }
  }
  if (running == nullptr) {
    Refuse(check, refusal);
    return;
  }
  running->record.set_check_id(id);
  running->record.set_check(check.check());
  *running->record.mutable_started_at() = ToTimestamp(now);
  running->record.set_boot_id(options_.boot_id);
  absl::MutexLock lock(&mutex_);
  running->thread = std::thread([this, running, check] { Run(running, check); });
}

void CheckSupervisor::Refuse(const v1::StartCheck& check, absl::string_view why) {
  v1::CheckRecord record;
  record.set_check_id(check.check_id());
  record.set_check(check.check());
  *record.mutable_started_at() = ToTimestamp(clock_.Now());
  v1::CheckResult result;
  result.set_check(check.check());
  result.set_outcome(v1::OUTCOME_UNKNOWN);
  result.set_reason(absl::StrCat("refused: ", why));
  Report(std::move(record), std::move(result));
}

void CheckSupervisor::Run(const std::shared_ptr<Running>& running, const v1::StartCheck& check) {
  const std::string& id = check.check_id();
  const absl::Time started = clock_.Now();
  WorkerEnd end;
  end.time_limit = ToDuration(check.time_limit());
  absl::StatusOr<sys::ProcessSpec> spec =
      WorkerProcess(options_.worker, check, checks_.KeyFileOf(id));
  if (spec.ok()) {
    // Recorded before it begins: after a crash of the agent it must not run on unseen.
    absl::Status stored = checks_.Put(running->record);
    if (stored.ok() && !check.pair_key().empty()) stored = checks_.PutKey(id, check.pair_key());
    if (!stored.ok()) spec = stored;
  }
  if (spec.ok()) {
    spec->control = &running->control;
    spec->unkillable_after = options_.unkillable_after;
    spec->on_line = [this, &running](absl::string_view line) { TakeLine(*running, line); };
    spec->on_error_line = [&running](absl::string_view line) { running->output.TakeError(line); };
    spec->on_started = [this, &running](int pid) {
      running->record.set_pid(pid);
      running->record.set_pid_start_ticks(sys::StartTicksOf(pid, files_));
      const absl::Status status = checks_.Put(running->record);
      if (!status.ok()) options_.note(status.message());
      // When memory runs out, the test must be killed, and not the processes beside it.
      files_.WriteToKernel(absl::StrCat("/proc/", pid, "/oom_score_adj"), "1000").IgnoreError();
    };
    options_.note(absl::StrCat("check ", id, " (", check.check(), ") starts"));
    const absl::StatusOr<sys::ProcessResult> ended = processes_.Run(*spec);
    if (ended.ok()) {
      end.exit_code = ended->exit_code;
      end.signal = ended->signal;
      end.timed_out = ended->timed_out;
      end.unkillable = ended->unkillable;
    } else {
      end.start = ended.status();
    }
  } else {
    end.start = spec.status();
  }
  {
    absl::MutexLock lock(&mutex_);
    end.stop_reason = running->stop_reason;
  }
  v1::CheckResult result = running->output.Conclude(end);
  *result.mutable_started_at() = running->record.started_at();
  if (result.seconds() <= 0) result.set_seconds(absl::ToDoubleSeconds(clock_.Now() - started));
  options_.note(absl::StrCat("check ", id, ": ", v1::Outcome_Name(result.outcome()),
                             result.reason().empty() ? "" : ", ", result.reason()));
  checks_.RemoveKey(id).IgnoreError();
  Report(running->record, std::move(result));
}

void CheckSupervisor::TakeLine(Running& running, absl::string_view line) {
  absl::StatusOr<std::optional<v1::CheckProgress>> progress = running.output.Take(line);
  if (!progress.ok()) {
    running.control.Stop();
    return;
  }
  if (running.output.has_result()) running.control.Stop(kLastSteps);
  if (!progress->has_value()) return;
  {
    absl::MutexLock lock(&mutex_);
    v1::CheckProgress news = std::move(**progress);
    if (news.has_listening()) running.listening = news.listening();
    news.clear_listening();
    if (running.progress.has_value()) {
      // Updates that have not been sent yet go together.
      auto& samples = *running.progress->mutable_samples();
      for (v1::Sample& sample : *news.mutable_samples()) *samples.Add() = std::move(sample);
      if (samples.size() > kMaxSamplesKept) {
        samples.DeleteSubrange(0, samples.size() - kMaxSamplesKept);
      }
      news.mutable_samples()->Swap(&samples);
    }
    running.progress = std::move(news);
  }
  options_.wake();
}

void CheckSupervisor::Report(v1::CheckRecord record, v1::CheckResult result) {
  const std::string id = record.check_id();
  v1::CheckReport& report = *record.mutable_report();
  report.set_check_id(id);
  *report.mutable_result() = std::move(result);
  if (!report.result().has_started_at()) {
    *report.mutable_result()->mutable_started_at() = record.started_at();
  }
  const absl::Status stored = checks_.Put(record);
  if (!stored.ok()) options_.note(absl::StrCat("keeping a report: ", stored.message()));
  absl::MutexLock lock(&mutex_);
  reports_[id] = absl::InfinitePast();
  if (!stored.ok()) unsaved_[id] = std::move(*record.mutable_report());
  if (const auto found = running_.find(id); found != running_.end()) {
    ended_.push_back(std::move(found->second->thread));
    running_.erase(found);
  }
  options_.wake();
}

void CheckSupervisor::JoinEnded() {
  std::vector<std::thread> ended;
  {
    absl::MutexLock lock(&mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

void CheckSupervisor::Connect(const v1::ConnectPeers& peers) {
  nlohmann::json line = {{"peers", nlohmann::json::array()}};
  for (const v1::Endpoint& peer : peers.peers()) {
    line["peers"].push_back({{"address", peer.address()}, {"port", peer.port()}});
  }
  const std::string text =
      line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  absl::MutexLock lock(&mutex_);
  const auto found = running_.find(peers.check_id());
  if (found == running_.end() || found->second->connected) return;
  if (peers.peers_size() == 0 || static_cast<size_t>(peers.peers_size()) > kMaxPeers) return;
  found->second->connected = true;
  found->second->control.Write(text);
}

void CheckSupervisor::EndOne(Running& running, absl::string_view reason, absl::Duration patience) {
  if (!running.stop_reason.empty()) return;
  running.stop_reason = reason.empty() ? "stopped" : std::string(reason);
  const nlohmann::json line = {{"stop", running.stop_reason}};
  running.control.Write(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  running.control.CloseInput();
  running.control.Stop(patience);
}

void CheckSupervisor::Stop(const v1::StopCheck& stop) {
  absl::MutexLock lock(&mutex_);
  const auto found = running_.find(stop.check_id());
  if (found != running_.end()) EndOne(*found->second, stop.reason(), options_.stop_patience);
}

void CheckSupervisor::Stored(const v1::CheckReportStored& stored) {
  {
    absl::MutexLock lock(&mutex_);
    if (reports_.erase(stored.check_id()) == 0) return;
    unsaved_.erase(stored.check_id());
  }
  const absl::Status status = checks_.Remove(stored.check_id());
  if (!status.ok()) options_.note(status.message());
}

void CheckSupervisor::OnConnected() {
  absl::MutexLock lock(&mutex_);
  for (auto& [id, due] : reports_) due = absl::InfinitePast();
  for (auto& [id, running] : running_) running->listening_due = absl::InfinitePast();
}

std::vector<v1::AgentMessage> CheckSupervisor::TakeDue(bool with_updates) {
  std::vector<v1::AgentMessage> messages;
  std::string report_id;
  std::optional<v1::CheckReport> unsaved;
  bool more = false;
  {
    absl::MutexLock lock(&mutex_);
    const absl::Time now = clock_.Now();
    for (auto& [id, due] : reports_) {
      if (due > now) continue;
      if (!report_id.empty()) {
        more = true;
        break;
      }
      report_id = id;
      due = now + options_.repeat;
      if (const auto found = unsaved_.find(id); found != unsaved_.end()) unsaved = found->second;
    }
    for (auto& [id, running] : running_) {
      if (!with_updates) break;
      const bool tell_listening =
          running->listening.has_value() && !running->connected && now >= running->listening_due;
      if (!running->progress.has_value() && !tell_listening) continue;
      v1::CheckUpdate& update = *messages.emplace_back().mutable_check_update();
      update.set_check_id(id);
      if (running->progress.has_value()) {
        *update.mutable_progress() = *std::exchange(running->progress, std::nullopt);
      }
      if (tell_listening) {
        *update.mutable_progress()->mutable_listening() = *running->listening;
        running->listening_due = now + kRepeatListening;
      }
    }
  }
  if (!report_id.empty()) {
    v1::CheckReport& report = *messages.emplace_back().mutable_check_report();
    absl::StatusOr<v1::CheckRecord> record;
    if (unsaved.has_value()) {
      report = *std::move(unsaved);
    } else if (record = checks_.Get(report_id); record.ok()) {
      report = std::move(*record->mutable_report());
    } else {
      report.set_check_id(report_id);
      report.mutable_result()->set_outcome(v1::OUTCOME_UNKNOWN);
      report.mutable_result()->set_reason(
          absl::StrCat("the report is lost: ", record.status().message()));
    }
  }
  if (more) options_.wake();
  return messages;
}

std::vector<std::string> CheckSupervisor::check_ids() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, running] : running_) ids.push_back(id);
  for (const auto& [id, due] : reports_) ids.push_back(id);
  return ids;
}

std::string CheckSupervisor::running() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrJoin(running_, ", ", [](std::string* out, const auto& entry) {
    absl::StrAppend(out, entry.second->check, " (", entry.first, ")");
  });
}

void CheckSupervisor::Shutdown(absl::string_view reason) {
  {
    absl::MutexLock lock(&mutex_);
    is_shut_down_ = true;
    for (auto& [id, running] : running_) EndOne(*running, reason, absl::Seconds(2));
    mutex_.Await(absl::Condition(this, &CheckSupervisor::Idle));
  }
  JoinEnded();
}

}  // namespace muster::agent
