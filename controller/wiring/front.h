// The controller as the network sees it.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/sys/http/http_client.h"
#include "common/sys/process/process.h"
#include "controller/enrollment/users.h"
#include "controller/http/http_server.h"
#include "controller/image/image_builds.h"
#include "controller/image/images.h"
#include "controller/login/web_sessions.h"
#include "controller/metrics/call_durations.h"
#include "controller/service/artifact_service.h"
#include "controller/service/authority_service.h"
#include "controller/service/boot_service.h"
#include "controller/service/command_service.h"
#include "controller/service/drift_service.h"
#include "controller/service/enrollment_service.h"
#include "controller/service/event_service.h"
#include "controller/service/explain_service.h"
#include "controller/service/hardware_service.h"
#include "controller/service/health_service.h"
#include "controller/service/image_service.h"
#include "controller/service/inventory_service.h"
#include "controller/service/node_service.h"
#include "controller/service/notification_service.h"
#include "controller/service/power_service.h"
#include "controller/service/reading_service.h"
#include "controller/service/rollout_service.h"
#include "controller/service/run_service.h"
#include "controller/service/secret_service.h"
#include "controller/service/snapshot_service.h"
#include "controller/service/stack_service.h"
#include "controller/service/timeline_service.h"
#include "controller/service/token_service.h"
#include "controller/service/user_service.h"
#include "controller/service/validation_service.h"
#include "controller/service/web_service.h"
#include "controller/session/agent_session_service.h"
#include "controller/snapshot/pool_fetcher.h"
#include "controller/snapshot/snapshots.h"
#include "controller/wiring/metrics.h"
#include "controller/wiring/web.h"

namespace grpc {
class Server;
}

namespace muster::controller {

struct Config;
struct Core;
struct Work;

// Services and the servers that offer them. Ordered by reference.
struct Front {
  // `core` and `work` must outlive the object.
  Front(const Config& config, Core& core, Work& work);
  ~Front();
  Front(const Front&) = delete;

  // Opens the port for package managers and joining machines.
  absl::Status ListenForPackages(const Config& config);
  // Opens the ports for agents and people; the error names the one that could not be had.
  absl::Status Listen(const Config& config, Work& work);
  // Lets calls end until `deadline`, and cancels the rest.
  void Shutdown(absl::Time deadline);

  Core& core;
  CallDurations durations;
  MetricsPage metrics;
  sys::CurlHttpClient downloads;
  sys::RealProcessRunner processes;
  snapshot::PoolFetcher pool;
  std::unique_ptr<HttpServer> packages;  // started before anything else is
  AgentSessionService agents;
  EnrollmentService enrollments;
  TokenService tokens;
  NodeService nodes;
  ArtifactService artifacts;
  EventService events;
  TimelineService timeline;
  SecretService secrets;
  InventoryService inventories;
  RunService runs;
  RolloutService rollouts;
  ExplainService explanations;
  Users people;
  UserService users;
  AuthorityService authority;
  ValidationService validations;
  HardwareService hardware;
  StackService stacks;
  HealthService health;
  DriftService drift;
  CommandService commands;
  PowerService power;
  ReadingService readings;
  BootService boots;
  NotificationService notifications;
  snapshot::Snapshots snapshot_changes;
  SnapshotService snapshots;
  image::ImageBuilds image_builds;
  image::Images image_changes;
  ImageService images;
  WebSessions web_sessions;
  WebService web_logins;
  std::unique_ptr<HttpServer> boot_server;     // none: "off"
  std::unique_ptr<HttpServer> metrics_server;  // none: "off"
  std::unique_ptr<WebFront> web;               // none: "off"
  std::unique_ptr<grpc::Server> enrollment_server;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  int enrollment_port = 0;
};

}  // namespace muster::controller
