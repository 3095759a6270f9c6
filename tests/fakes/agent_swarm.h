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

// Wakes agents at their times, in a thread of its own. Thread-safe.
class SwarmTimers {
 public:
  // `on_time` is told the agent and the connection that it was to be woken for.
  using OnTime = void (*)(SwarmAgent& agent, uint64_t connection);
  explicit SwarmTimers(OnTime on_time) : on_time_(on_time), thread_([this] { Run(); }) {}
  ~SwarmTimers() { Stop(); }

  void Wake(SwarmAgent* agent, uint64_t connection, absl::Duration wait);
  void Stop();

 private:
  struct Timer {
    absl::Time due;
    SwarmAgent* agent;
    uint64_t connection;
    bool operator<(const Timer& other) const { return due > other.due; }  // the earliest on top
  };
  void Run();

  const OnTime on_time_;
  absl::Mutex mutex_;
  std::vector<Timer> timers_ ABSL_GUARDED_BY(mutex_);  // a heap
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

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

  // Agents that wait for their welcome at the same time: more only wait for their machine.
  static constexpr size_t kMostConnecting = 500;
  // All connect, as fast as that allows.
  void Start();
  // Ends all streams and waits until gRPC has let go of them.
  void Stop();

  // Agent `i`, in the order of the machines, reports that these conditions are bad, name and
  // evidence of each, and that all others of the catalogue are well. Before, all are well.
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
  struct Counters {
    size_t greeted = 0;
    size_t streams = 0;     // held by gRPC
    size_t connecting = 0;  // of those that are not greeted
    uint64_t finished_plans = 0;
    uint64_t sent_reports = 0;
    uint64_t attempts = 0;
  };

  void Count(std::function<void(Counters&)> change);
  // Counts an attempt when it may begin. False: the swarm stops.
  bool BeginAttempt();

  const Options options_;
  mutable absl::Mutex mutex_;
  Counters counters_ ABSL_GUARDED_BY(mutex_);
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::unique_ptr<SwarmAgent>> agents_;
  // An agent's half of a connection takes some 5 ms of a core. On thousands of machines no
  // heartbeat waits for the connections of others, and here none does, either.
  SwarmTimers connecting_;
  SwarmTimers beating_;  // heartbeats, and the patience for the welcome
};

}  // namespace muster::testing
