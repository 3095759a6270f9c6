// The agent's side of the conversation with the controller.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/session/channel.h"
#include "agent/session/facts_source.h"
#include "agent/session/mailbox.h"
#include "agent/session/renewal.h"
#include "agent/state/journal.h"
#include "agent/state/paths.h"
#include "common/base/backoff.h"
#include "common/base/patience.h"
#include "common/base/worker.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

namespace health {
class HealthMonitor;
class RenewalTrouble;
}  // namespace health

class CheckSupervisor;
class CommandSupervisor;
class ControllerStream;
class PermitRequests;
class ReadingWatch;
class SlurmRequests;

// Keeps one stream to the controller open, whatever happens to the network: plans go to the engine,
// reports come from the journal and are sent until the controller has stored them. Runs in the
// thread that calls Run().
class Session {
 public:
  struct Options {
    std::string agent_version;
    std::string boot_id;
    // Waits between attempts to connect: full jitter between zero and the doubling ceiling.
    absl::Duration first_backoff = absl::Seconds(1);
    absl::Duration longest_backoff = absl::Seconds(30);
    // Reports sent but not stored yet. The controller takes 128 in one message.
    size_t max_reports_in_flight = 128;
    // For tests; empty: OpenChannel.
    std::function<std::shared_ptr<grpc::Channel>(const Identity&)> open_channel = {};
  };

  // All references must outlive the session.
  Session(Options options, Paths paths, sys::FileSystem& files, Engine& engine, Journal& journal,
          Mailbox& mailbox, PermitRequests& reboots, CheckSupervisor& checks, SlurmRequests& slurm,
          CommandSupervisor& commands, health::HealthMonitor& health,
          health::RenewalTrouble& renewal, ReadingWatch& readings, FactsSource& facts,
          CurrentChannel& channel, Clock& clock);
  // The destructor waits for the facts that are being gathered.

  // Returns when the mailbox was told to stop.
  void Run();

  // When the session's thread last showed a sign of life.
  absl::Time last_alive() const;
  // For `systemctl status`: "connected to login1:7443 as c001".
  std::string status_text() const;

 private:
  // How a connection ended.
  struct Ending {
    absl::Status status;
    bool welcomed = false;
    bool renewed = false;
  };

  Ending Converse(const Identity& identity, const CertificateLife& life);
  // One turn: handles arrived mail and due work. False: the stream is over.
  bool Turn(ControllerStream& stream, Mailbox::Mail mail, Ending& ending);
  void Handle(ControllerStream& stream, v1::ControllerMessage& message, Ending& ending);
  void NoteGreeted(const v1::Welcome& welcome);
  void AnswerPlan(ControllerStream& stream, const v1::Plan& plan);
  void SendReports(ControllerStream& stream);
  void SendHello(ControllerStream& stream);
  bool RenewIfDue(const Identity& identity, const CertificateLife& life);
  // Makes the reserve again that a renewal on a full disk has taken.
  void KeepReserveIfDue();
  struct FactsRequest {  // see v1::GatherFacts
    std::string id;
    bool with_packages = false;
    uint64_t connection = 0;
  };
  // Drops what the last connection has left, above all its requests for facts: the next one has not
  // asked for their answers.
  void ForgetConnection();
  void RequestFacts(std::string id, bool with_packages);
  // Answers the oldest request; returns when to look for the next.
  absl::Time GatherFacts();
  void Alive(std::string status);

  const Options options_;
  const Paths paths_;
  sys::FileSystem& files_;
  Engine& engine_;
  Journal& journal_;
  Mailbox& mailbox_;
  PermitRequests& reboots_;
  CheckSupervisor& checks_;
  SlurmRequests& slurm_;
  CommandSupervisor& commands_;
  health::HealthMonitor& health_;
  health::RenewalTrouble& renewal_;
  ReadingWatch& readings_;
  FactsSource& facts_;
  CurrentChannel& channel_;
  Clock& clock_;
  const absl::Time started_;
  absl::BitGen random_;
  Backoff backoff_;
  Patience patience_;  // for the welcome

  // State of the connection; the session's thread only.
  absl::Duration heartbeat_interval_;
  absl::Duration reconnect_spread_;
  absl::Time next_heartbeat_;
  absl::Time renew_at_;
  bool is_told_to_renew_ = false;                 // at once, by the controller
  absl::Time reserve_at_ = absl::InfinitePast();  // of all connections
  std::deque<uint64_t> in_flight_;                // sequences of reports sent but not stored
  uint64_t sent_up_to_ = 0;
  // Not yet sent: those from before the welcome are for the connection that gets one.
  std::deque<v1::FactsReport> facts_to_send_;

  mutable absl::Mutex mutex_;
  absl::Time alive_ ABSL_GUARDED_BY(mutex_);
  std::string status_text_ ABSL_GUARDED_BY(mutex_);
  std::deque<FactsRequest> facts_requests_ ABSL_GUARDED_BY(mutex_);
  uint64_t connection_ ABSL_GUARDED_BY(mutex_) = 0;  // counts them
  Worker facts_worker_;
};

}  // namespace muster::agent
