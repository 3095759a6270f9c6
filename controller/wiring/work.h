// The parts of the controller that carry something out: runs, validations, the gate to Slurm.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/boot/boots.h"
#include "controller/boot/root_chunks.h"
#include "controller/claim/node_claims.h"
#include "controller/command/node_commands.h"
#include "controller/console/console_captures.h"
#include "controller/drift/drift_checks.h"
#include "controller/gate/reboot_drains.h"
#include "controller/gate/service_gate.h"
#include "controller/health/health_monitor.h"
#include "controller/housekeeper.h"
#include "controller/notify/notifications.h"
#include "controller/power/own_machine.h"
#include "controller/power/power_control.h"
#include "controller/power/reboot_rescue.h"
#include "controller/reading/watched_nodes.h"
#include "controller/rollout/rollout_manager.h"
#include "controller/rollout/update_policies.h"
#include "controller/run/plan/playbook_compiler.h"
#include "controller/run/run_manager.h"
#include "controller/run/secret_rotation.h"
#include "controller/slurm/agent_slurm_control.h"
#include "controller/slurm/seen_slurm.h"
#include "controller/timeline/timeline_watches.h"
#include "controller/validation/engine/follow_ups.h"
#include "controller/validation/engine/validation_manager.h"

namespace muster::controller {

struct Actor;
struct Config;
struct Core;

// Ordered by reference: each member uses those before it alone.
struct Work {
  // Attaches its listeners to `core`, which must outlive the object.
  Work(const Config& config, Core& core);
  Work(const Work&) = delete;

  // Goes on with what an earlier process left.
  absl::Status Start();
  // Lets go of the streams that would stay open for ever; before the servers end.
  void EndStreams();
  // Ends the threads; after the servers.
  void Stop();

 private:
  absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> LatestInventory();
  absl::StatusOr<slurm::SlurmctldPlace> FindSlurmctld();
  bool CanAskSlurm();
  // See SeenSlurm.
  bool IsSlurmGivenUp();
  absl::StatusOr<bool> WasSlurmSeen();
  std::unique_ptr<validation::JobGate> MakeGate(const Config& config);
  notify::NotifyCollaborators ForNotifications(const Config& config);
  validation::ValidationCollaborators ForValidations();
  health::HealthCollaborators ForHealth();
  // The rollout that reboots the node once, when it has no job; its id.
  absl::StatusOr<std::string> StartReboot(const std::string& node, const std::string& reason);
  RunCollaborators ForRuns(const Config& config);
  // See RunCollaborators::order_image.
  RunCollaborators::OrderImage OrdersOfImages(const Config& config);
  rollout::RolloutCollaborators ForRollouts(const Config& config);
  drift::DriftCollaborators ForDrift();
  console::ConsoleCaptures::Means ForConsoles();
  power::PowerCollaborators ForPower();
  boot::Boots::Means ForBoots(const Config& config);
  // The facts that a node was asked for are in the store, or refused.
  void OnFacts(const std::string& uuid, const FactsRequest& request, const absl::Status& refused);
  // Slurm, or the nodes' state for it, may have changed.
  void WakeGate();

  Core& core_;
  validation::ServiceGate* service_gate_ = nullptr;  // the gate, if there is one to shut

 public:
  notify::Notifications notifications;
  slurm::AgentSlurmControl slurm_agent;
  slurm::SeenSlurm slurm;
  std::unique_ptr<validation::JobGate> gate;
  std::unique_ptr<validation::RebootDrains> drains;  // nullptr: the gate is not shut
  NodeClaims claims;
  validation::ValidationManager validations;
  validation::FollowUps follow_ups;
  BundleApprovals approvals;
  console::ConsoleCaptures consoles;
  boot::Boots boots;
  boot::RootChunks root_chunks;
  PlaybookCompiler compiler;
  RunManager runs;
  rollout::RolloutManager rollouts;
  rollout::UpdatePolicies policies;
  drift::DriftChecks drift;
  health::HealthMonitor health;
  SecretRotations rotations;
  NodeCommands commands;
  WatchedNodes readings;
  const power::OwnMachine own_machine;
  power::PowerControl power;
  power::RebootRescue rescue;
  timeline::TimelineWatches timelines;
  Housekeeper housekeeper;
};

}  // namespace muster::controller
