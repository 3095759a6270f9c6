// Many simulated agents in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "muster/v1/facts.pb.h"

namespace muster::testing {

class SwarmAgent;

// Agents that speak the real protocol over real streams, each with a certificate and a connection
// of its own, and do what a real agent does on the wire: greet, send heartbeats, report facts,
// accept plans, report every step as ok, with 64 reports in flight, keep reports that are not
// stored, and reconnect with the agent's backoff. Thread-safe.
class AgentSwarm {
 public:
  struct Machine {
    std::string uuid;
    std::string name;
    std::string certificate_pem;
  };
  struct Options {
    std::string address;  // host:port of the controller
    std::string ca_pem;
    std::string key_pem;  // shared: making thousands takes long and tests nothing
    v1::Facts facts;      // of each agent; the host name is set
    absl::Duration first_backoff = absl::Seconds(1);
    absl::Duration longest_backoff = absl::Seconds(30);
  };

  AgentSwarm(Options options, std::vector<Machine> machines);
  ~AgentSwarm();  // stops

  // All connect at once.
  void Start();
  // Ends all streams and waits until gRPC has let go of them.
  void Stop();

  // Agent `i`, in the order of the machines, reports that these conditions are bad, name and
  // evidence of each, and that all others of the catalogue are well. From then on its heartbeats
  // have a digest of it. Agents report no health before.
  using BadConditions = std::vector<std::pair<std::string, std::string>>;
  void ReportHealth(size_t i, const BadConditions& bad);

  // Agents that were welcomed on their present connection.
  size_t greeted() const;
  bool AwaitGreeted(size_t count, absl::Duration timeout) const;
  // Plans whose outcome the controller has stored, since the start.
  uint64_t finished_plans() const;
  uint64_t sent_reports() const;
  // The times of each agent's last heartbeats, by name, at most kKeptBeats of them, in order.
  static constexpr size_t kKeptBeats = 16;
  std::map<std::string, std::vector<absl::Time>> RecentBeats() const;
  // Number of connection attempts.
  uint64_t attempts() const;

 private:
  friend class SwarmAgent;
  struct Timer {
    absl::Time due;
    SwarmAgent* agent;
    uint64_t connection;                                                  // of the timer
    bool operator<(const Timer& other) const { return due > other.due; }  // the earliest on top
  };
  struct Counters {
    size_t greeted = 0;
    size_t streams = 0;  // held by gRPC
    uint64_t finished_plans = 0;
    uint64_t sent_reports = 0;
    uint64_t attempts = 0;
  };

  void Wake(SwarmAgent* agent, uint64_t connection, absl::Duration wait);
  void RunTimers();
  void Count(std::function<void(Counters&)> change);

  const Options options_;
  mutable absl::Mutex mutex_;
  Counters counters_ ABSL_GUARDED_BY(mutex_);
  std::vector<Timer> timers_ ABSL_GUARDED_BY(mutex_);  // a heap
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<SwarmAgent>> agents_;
  std::thread timer_thread_;
};

}  // namespace muster::testing
