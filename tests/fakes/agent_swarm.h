// Many agents without machines, in one process.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "muster/v1/facts.pb.h"

namespace muster::testing {

class SwarmAgent;

// Agents that speak the real protocol over real streams, each with a certificate and a connection
// of its own, and do what a real agent does on the wire: greet, beat, report facts, accept plans,
// report every step as ok, 64 reports in flight, keep what is not stored, and come back with the
// agent's backoff. Thread-safe.
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
    std::string key_pem;  // one for all: making thousands takes long and shows nothing
    v1::Facts facts;      // of each; the host name is set
    absl::Duration first_backoff = absl::Seconds(1);
    absl::Duration longest_backoff = absl::Seconds(30);
  };

  AgentSwarm(Options options, std::vector<Machine> machines);
  ~AgentSwarm();  // stops

  // All connect at once.
  void Start();
  // Ends all streams and waits until gRPC has let go of them.
  void Stop();

  // Agents that are welcome on their present connection.
  size_t greeted() const;
  bool AwaitGreeted(size_t count, absl::Duration timeout) const;
  // Plans whose outcome the controller has stored, since the start.
  uint64_t finished_plans() const;
  uint64_t sent_reports() const;
  // When each agent, by name, sent its last heartbeats, at most kKeptBeats of them, in order.
  static constexpr size_t kKeptBeats = 16;
  std::map<std::string, std::vector<absl::Time>> RecentBeats() const;
  // Connections that were tried.
  uint64_t attempts() const;

 private:
  friend class SwarmAgent;
  struct Timer {
    absl::Time due;
    SwarmAgent* agent;
    uint64_t connection;                                                  // that it is about
    bool operator<(const Timer& other) const { return due > other.due; }  // the earliest on top
  };
  struct Counters {
    size_t greeted = 0;
    size_t streams = 0;  // that gRPC holds
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

// What a node with eight GPUs and ten network interfaces says of itself.
v1::Facts FactsOfAGpuNode();

}  // namespace muster::testing
