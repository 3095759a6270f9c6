// Runs the checks of a validation on this node.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/validation/check_files.h"
#include "common/checks/limits.h"
#include "muster/v1/agent_session.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// Carries out StartCheck requests, each by a muster-burnin of its own, which may crash, hang or
// lie: every requested check gets a report, and the report is kept until the controller has it.
// Thread-safe.
class CheckSupervisor {
 public:
  struct Options {
    // The worker program; searched for in kStandardPath.
    std::string worker = "muster-burnin";
    std::string boot_id;
    size_t max_running = checks::kMaxChecksAtOnce;
    // Reports that nobody has fetched; with this many a node accepts no more checks.
    size_t max_reports = 64;
    // How long a check that was told to stop may take to report.
    absl::Duration stop_patience = absl::Seconds(20);
    // After SIGKILL. Long enough to tear down contexts on all GPUs; a worker that still exists then
    // hangs in the kernel, and its check ends without it.
    absl::Duration unkillable_after = absl::Seconds(10);
    // A report that was not acknowledged is sent again after this long.
    absl::Duration repeat = absl::Minutes(1);
    // The running plan; checks are refused while there is one, rather than wait. Empty: none.
    std::function<std::string()> active_plan = [] { return std::string(); };
    // Called when TakeDue() has something new; must not block or call the supervisor.
    std::function<void()> wake = [] {};
    // For the agent's log.
    std::function<void(absl::string_view)> note = [](absl::string_view) {};
  };

  // All references must outlive the supervisor.
  CheckSupervisor(Options options, std::string directory, sys::FileSystem& files,
                  sys::ProcessRunner& processes, Clock& clock);
  // Stops.
  ~CheckSupervisor();

  // Handles the checks that an earlier life of the agent left: its workers are ended, its checks
  // are unknown. Call once, before all else.
  absl::Status Recover();

  void Start(const v1::StartCheck& check);
  void Connect(const v1::ConnectPeers& peers);
  void Stop(const v1::StopCheck& stop);
  void Stored(const v1::CheckReportStored& stored);

  // A connection has begun: messages sent on an earlier one may be lost.
  void OnConnected();
  // The messages to send now, with at most one report. `with_updates`: also those that may get
  // lost.
  std::vector<v1::AgentMessage> TakeDue(bool with_updates);
  // Checks that are running, or whose reports have not been stored.
  std::vector<std::string> check_ids() const;
  // "gpu-gemm (v-7k3m9q2x/…)"; empty: none is running.
  std::string running() const;

  // Ends all checks: they are unknown with `reason`. Waits some seconds until they are reported. No
  // check starts afterwards.
  void Shutdown(absl::string_view reason);

 private:
  struct Running;

  void Refuse(const v1::StartCheck& check, absl::string_view why);
  void Run(const std::shared_ptr<Running>& running, const v1::StartCheck& check);
  void TakeLine(Running& running, absl::string_view line);
  void Report(v1::CheckRecord record, v1::CheckResult result);
  void JoinEnded();
  void EndOne(Running& running, absl::string_view reason, absl::Duration patience)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return running_.empty(); }

  const Options options_;
  CheckFiles checks_;
  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  Clock& clock_;

  mutable absl::Mutex mutex_;
  bool is_shut_down_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<Running>> running_ ABSL_GUARDED_BY(mutex_);
  // Ended but not acknowledged: when each report is to be sent (again).
  std::map<std::string, absl::Time> reports_ ABSL_GUARDED_BY(mutex_);
  // Those of them that could not be written to disk.
  std::map<std::string, v1::CheckReport> unsaved_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
