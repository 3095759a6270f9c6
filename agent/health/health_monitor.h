// Watches the node's health for its controller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/health/condition_board.h"
#include "agent/health/local_report.h"
#include "agent/health/log_reader.h"
#include "agent/health/probe_rounds.h"
#include "agent/health/probes/probe.h"
#include "agent/health/probes/site_probe.h"
#include "agent/health/settings.h"
#include "agent/health/xid_inbox.h"
#include "common/base/worker.h"
#include "muster/v1/agent_session.pb.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent::health {

// Joins the probes, the kernel's log and the site's conditions on one board, and tells the session,
// a file of this node and the record of the state folder what is on it. Thread-safe.
class HealthMonitor {
 public:
  // Reports follow each other at this distance at least, those about evidence alone at the longer
  // one.
  static constexpr absl::Duration kReportDistance = absl::Seconds(2);
  static constexpr absl::Duration kEvidenceDistance = absl::Minutes(1);

  struct Options {
    std::string boot_id;
    std::string record_path;  // in the state folder
    std::string local_report;
    std::string log_path = "/dev/kmsg";
    bool is_container = false;  // it may have no log of the kernel, and nobody is to blame
    std::vector<ProbeSpec> probes;
    // What listens to Xids while the log cannot be read, and where it tells them. An empty probe:
    // nothing does.
    std::shared_ptr<XidInbox> xids = std::make_shared<XidInbox>();
    ProbeSpec xid_probe = {};
    RunSiteCommand run_site;
    // Called when TakeDue() has something new, and with messages for the agent's log; from any
    // thread. Must not block or call the object.
    std::function<void()> wake;
    std::function<void(absl::string_view)> note;
    std::function<absl::Duration()> since_boot;
  };
  // `trends` and `gpus` are those of the probes' context. All references must outlive the process's
  // probes.
  HealthMonitor(Options options, Trends& trends, GpuNames& gpus, sys::FileSystem& files,
                Clock& clock);
  ~HealthMonitor();  // stops

  // Reads what an earlier agent left, and begins.
  void Start();
  // Ends the reader of the log and writes the record. Does not wait for probes.
  void Stop();

  // For the session. A connection has begun: everything is reported again.
  void OnConnected() { ReportAgain(); }
  // The controller has asked. Answered by one report, however often it asks before that.
  void ReportAgain();
  void Set(const v1::HealthSettings& message);
  // The controller says that the cause of a condition is gone. Those that end by themselves stay.
  void Clear(const v1::ClearHealth& message);
  // The messages to send now.
  std::vector<v1::AgentMessage> TakeDue();
  // Adds what is known of the last report.
  void Describe(v1::Heartbeat& heartbeat) const;

 private:
  absl::Time Step();
  void Load();
  void Save(absl::Time now);
  // When the names of the GPUs are known, or soon.
  void StartLogIfDue(absl::Time now);
  void TakeLogRecord(const LogRecord& record);
  void TakeLine(absl::string_view text, absl::Time at, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Listens to Xids in the log's place while that cannot be read.
  void ListenToXids(absl::Time now);
  // The agent's own conditions.
  void LookAtSelf(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Merge(const ProbeRounds::Outcome& outcome, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a report if it is time; returns when the next may be made.
  absl::Time ReportIfDue(const std::vector<ReportRow>& rows, absl::Time now,
                         std::optional<v1::HealthReport>* made)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Hands the report to the session, in the place of one that it has not taken.
  void Offer(v1::HealthReport report);
  // Writes if it is time; returns when it is again. `is_reported`: the controller is about to hear.
  absl::Time WriteLocalReport(const std::vector<ReportRow>& rows, bool is_reported, absl::Time now);
  muster::health::Severity SeverityOf(const std::string& condition) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Note(const absl::Status& status);

  const Options options_;
  Trends& trends_;
  const GpuNames& gpus_;
  sys::FileSystem& files_;
  Clock& clock_;

  mutable absl::Mutex mutex_;
  ConditionBoard board_ ABSL_GUARDED_BY(mutex_);
  // The agent's own conditions, which find room however full the other one is.
  ConditionBoard own_ ABSL_GUARDED_BY(mutex_);
  Settings settings_ ABSL_GUARDED_BY(mutex_);
  bool has_new_settings_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<std::string> watched_ ABSL_GUARDED_BY(mutex_);  // somebody has looked
  // Cards that the driver could not take, which it logs before IsDriverStart().
  std::vector<Event> failed_cards_ ABSL_GUARDED_BY(mutex_);
  // The last record of the log whose event is on the board.
  std::optional<uint64_t> log_done_ ABSL_GUARDED_BY(mutex_);
  bool must_save_ ABSL_GUARDED_BY(mutex_) = false;  // soon: a person has decided
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  v1::HealthReport reported_ ABSL_GUARDED_BY(mutex_);
  absl::Time reported_at_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  bool must_report_ ABSL_GUARDED_BY(mutex_) = false;           // to a connection that is new
  std::vector<v1::AgentMessage> due_ ABSL_GUARDED_BY(mutex_);  // one at most
  v1::Heartbeat sent_ ABSL_GUARDED_BY(mutex_);  // what it says of the report that was sent

  // The worker's.
  absl::Time started_;
  uint64_t log_rounds_ = 0;      // of the reader at the last look
  int looks_without_round_ = 0;  // since then
  bool is_log_started_ = false;
  bool is_listening_ = false;  // to Xids
  absl::Time self_due_ = absl::InfinitePast();
  absl::Time saved_at_ = absl::InfinitePast();  // or tried to
  bool has_save_failed_ = false;                // the last time
  absl::Time written_at_ = absl::InfinitePast();
  std::string saved_, written_;  // what the record and the local report say, without their times
  std::string trouble_;          // the last one that was noted

  std::unique_ptr<LogReader> log_;
  Worker worker_;
  ProbeRounds rounds_;  // the worker's; its probes wake the worker
};

}  // namespace muster::agent::health
