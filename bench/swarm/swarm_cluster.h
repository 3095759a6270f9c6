// A cluster of simulated agents around the real musterd.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/enrollment/identity.h"
#include "tests/fakes/agent_swarm.h"

namespace muster::bench {

// The kernel's figures of a process.
struct ProcessUse {
  double rss_mib = 0;       // now
  double peak_rss_mib = 0;  // since it began, or since ResetPeak()
  double cpu_s = 0;         // user and system
  int threads = 0;
};
absl::StatusOr<ProcessUse> UseOf(pid_t pid);
void ResetPeak(pid_t pid);

// A folder with everything that musterd needs, and the process. Everything listens on the loopback;
// destruction ends the process and removes the folder.
class SwarmCluster {
 public:
  struct Programs {
    std::string musterd;
    std::string muster;
    std::string site;  // folder with playbooks/
  };

  // One login node and `nodes` - 1 workers, enrolled already.
  static absl::StatusOr<std::unique_ptr<SwarmCluster>> Make(Programs programs, size_t nodes);
  ~SwarmCluster();
  SwarmCluster(const SwarmCluster&) = delete;
  SwarmCluster& operator=(const SwarmCluster&) = delete;

  // Starts musterd and waits until it listens.
  absl::Status StartController();
  // Like a power cut.
  void KillController();
  pid_t controller() const { return controller_; }
  // Runs `muster` with these arguments; its output goes into a file. An error contains the end of
  // it.
  absl::Status Muster(const std::vector<std::string>& arguments);
  // The same; returns what it said.
  absl::StatusOr<std::string> Ask(const std::vector<std::string>& arguments);

  testing::AgentSwarm::Options SwarmOptions() const;
  // A certificate for a person, with the key that all of the swarm shares. PEM.
  absl::StatusOr<std::string> IssueUser(const std::string& name, controller::Role role) const;
  // May be taken once.
  std::vector<testing::AgentSwarm::Machine> TakeMachines() { return std::move(machines_); }
  const std::string& folder() const { return folder_; }

 private:
  SwarmCluster(Programs programs, std::string folder)
      : programs_(std::move(programs)), folder_(std::move(folder)) {}
  absl::Status MakeAuthority();
  absl::Status WriteSettings(size_t nodes);
  absl::Status EnrollAll(size_t nodes);

  const Programs programs_;
  const std::string folder_;
  int port_ = 0;
  pid_t controller_ = -1;
  std::string ca_pem_;
  std::string key_pem_;
  std::string csr_pem_;
  std::vector<testing::AgentSwarm::Machine> machines_;
};

}  // namespace muster::bench
