#include "controller/wiring/front.h"

#include <utility>
#include <vector>

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/checks/catalog.h"
#include "controller/boot/boot_server.h"
#include "controller/config.h"
#include "controller/constants.h"
#include "controller/http/package_server.h"
#include "controller/http/packages.h"
#include "controller/log.h"
#include "controller/service/front/call_counter.h"
#include "controller/snapshot/snapshot_server.h"
#include "controller/wiring/core.h"
#include "controller/wiring/offer.h"
#include "controller/wiring/work.h"

namespace muster::controller {
namespace {

absl::StatusOr<std::vector<v1::AgentPackage>> Packages(const std::string& folder,
                                                       const std::string& base_url) {
  ASSIGN_OR_RETURN(const std::vector<PackageFile> files, ListAgentPackages(folder));
  std::vector<v1::AgentPackage> packages;
  for (const PackageFile& file : files) {
    v1::AgentPackage& package = packages.emplace_back();
    package.set_url(absl::StrCat(base_url, file.name));
    package.set_sha256(file.sha256);
    package.set_architecture(file.architecture);
  }
  return packages;
}

int Milliseconds(absl::Duration duration) {
  return static_cast<int>(absl::ToInt64Milliseconds(duration));
}

void SetCommonOptions(grpc::ServerBuilder& builder) {
  // A second musterd must fail to listen instead of sharing the port.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  // Nobody uses gRPC's own statistics, which each connection would keep.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  builder.AddChannelArgument(GRPC_ARG_TSI_MAX_FRAME_SIZE, kMaxTlsFrameBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kMaxReadChunkBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_HPACK_TABLE_SIZE_DECODER, kHeaderTableBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshakeTimeout));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(kIdleTimeout));
  // gRPC limits the size of a message as it arrives and then unpacks it: 16 MiB may become 16 GiB.
  // Our clients do not compress, so compressed messages are refused.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  // gRPC would answer nearly every heartbeat with a ping, to measure how much data a connection can
  // take: half of what idle agents cost.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveTime));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(kMinPingInterval));
}

absl::StatusOr<std::unique_ptr<grpc::Server>> StartServer(grpc::ServerBuilder& builder,
                                                          const std::string& address,
                                                          const char* key, const int& port) {
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr && port != 0) return server;
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address,
                   ": is another musterd running, or does the address not belong to this ",
                   "machine? It is set by `", key, "` in controller.yaml"));
}

}  // namespace

Front::Front(const Config& config, Core& core, Work& work)
    : core(core),
      metrics(core, work, durations),
      pool(*core.resources.snapshots, downloads, core.clock, LogWarning),
      agents(core.registry, core.open_calls, core.enrollment, core.resources.ca.roots().pem,
             *core.resources.blobs,
             [&work](absl::string_view node_uuid, absl::string_view sha256) {
               return work.runs.MayFetchBlob(node_uuid, sha256);
             }),
      enrollments(core.enrollment, core.token_requests, work.boots, core.shares,
                  core.resources.ca.roots().pem),
      tokens(core.enrollment,
             {core.resources.join_pin, config.enrollment_address, config.controller_address,
              [this, folder = config.package_directory, host = HostOf(config.controller_address)] {
                return Packages(folder,
                                absl::StrCat("http://", host, ":", packages->port(), "/packages/"));
              }}),
      nodes(*core.resources.store, core.inventory, core.enrollment, core.registry, core.facts,
            work.slurm, *work.gate, work.health,
            {config.cluster, core.resources.ca.pin(), kVersion, core.clock.Now(), &core.clock,
             [&work](const std::vector<std::string>& names) { work.boots.ForgetDisks(names); }}),
      artifacts(*core.resources.store, *core.resources.blobs, BundleLoader(*core.resources.blobs),
                work.approvals, core.clock, core.open_calls),
      events(*core.resources.store),
      timeline(work.timelines, *core.resources.store, core.clock, core.open_calls),
      secrets(*core.resources.secrets, work.rotations),
      inventories(*core.resources.store, core.clock, config.cluster),
      runs(work.runs, *core.resources.store, config.cluster, core.open_calls),
      rollouts(work.rollouts, work.policies, *core.resources.store, config.cluster,
               core.open_calls),
      explanations(*core.resources.store, core.inventory, *core.resources.secrets,
                   BundleLoader(*core.resources.blobs),
                   [config, &core] { return OfferOf(config, *core.resources.snapshots); }),
      people(*core.resources.store, core.resources.ca, core.denylist, core.clock,
             [&core] { core.open_calls.Sweep(); }),
      users(people, core.resources.ca.roots().pem, config.controller_address),
      authority(*core.resources.store, core.resources.ca, core.registry, core.clock),
      validations(work.validations, work.follow_ups, work.approvals, *core.resources.store,
                  core.open_calls),
      hardware(*core.resources.store, core.clock, checks::Checks(),
               [&core]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
                 ASSIGN_OR_RETURN(InventoryVersion latest, core.inventory.Latest());
                 return std::move(latest.inventory);
               }),
      stacks(*core.resources.store, core.inventory),
      health(work.health, core.inventory, *core.resources.store, core.clock),
      drift(work.drift, core.inventory, *core.resources.store, core.registry, core.facts),
      commands(work.commands, core.inventory, *core.resources.store, core.open_calls,
               config.exec == "on"),
      power(work.power, work.consoles, core.inventory, *core.resources.store, core.registry,
            core.open_calls, work.own_machine),
      readings(work.readings, core.inventory, *core.resources.store),
      boots(work.boots, core.inventory, config.boot_listen != "off"),
      notifications(work.notifications),
      snapshot_changes(
          *core.resources.snapshots, *core.resources.store, downloads, processes,
          [&core]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
            ASSIGN_OR_RETURN(InventoryVersion latest, core.inventory.Latest());
            return std::move(latest.inventory);
          },
          core.clock),
      snapshots(snapshot_changes, *core.resources.snapshots),
      image_builds({.store = *core.resources.store,
                    .clock = core.clock,
                    .load_bundle = BundleLoader(*core.resources.blobs),
                    .offer = [config, &core] { return OfferOf(config, *core.resources.snapshots); },
                    .packages_at = [&core](const std::string& name) -> absl::StatusOr<absl::Time> {
                      ASSIGN_OR_RETURN(const auto snapshot, core.resources.snapshots->Get(name));
                      return snapshot::PackagesAt(*snapshot);
                    },
                    .package_directory = config.package_directory}),
      image_changes(*core.resources.images, *core.resources.store, core.clock),
      images(image_builds, image_changes, *core.resources.images, work.boots, core.clock,
             core.open_calls),
      web_sessions(core.denylist, core.clock),
      web_logins(web_sessions, *core.resources.store, core.clock) {}

Front::~Front() = default;

absl::Status Front::ListenForPackages(const Config& config) {
  pool.Start();
  ASSIGN_OR_RETURN(packages, StartPackageServer(config.package_listen, config.package_directory,
                                                [this](const HttpRequest& request) {
                                                  return snapshot::ServeSnapshot(
                                                      *core.resources.snapshots, pool,
                                                      request.path);
                                                }));
  return absl::OkStatus();
}

absl::Status Front::Listen(const Config& config, Work& work) {
  ASSIGN_OR_RETURN(web, StartWebFront(config, core, work, *this));
  grpc::ServerBuilder main;
  SetCommonOptions(main);
  main.SetMaxReceiveMessageSize(kMaxMessageBytes);
  main.SetResourceQuota(grpc::ResourceQuota("main").Resize(kMemoryBytes).SetMaxThreads(kThreads));
  main.AddListeningPort(
      config.listen,
      MutualTlsCredentials(core.resources.tls, core.denylist, core.clock, core.shares), &port);
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
  counters.push_back(std::make_unique<CallCounterFactory>(core.shares, durations, core.clock));
  main.experimental().SetInterceptorCreators(std::move(counters));
  for (grpc::Service* service : std::initializer_list<grpc::Service*>{
           &agents,        &tokens,    &nodes,    &artifacts,    &events, &secrets,
           &inventories,   &runs,      &rollouts, &explanations, &users,  &authority,
           &validations,   &hardware,  &stacks,   &health,       &drift,  &commands,
           &notifications, &snapshots, &timeline, &web_logins,   &power,  &images,
           &readings,      &boots}) {
    main.RegisterService(service);
  }
  ASSIGN_OR_RETURN(server, StartServer(main, config.listen, "listen", port));

  grpc::ServerBuilder enrolling;
  SetCommonOptions(enrolling);
  enrolling.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               Milliseconds(kEnrollmentConnectionAge));
  enrolling.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               Milliseconds(kEnrollmentConnectionGrace));
  enrolling.SetMaxReceiveMessageSize(kMaxEnrollmentMessageBytes);
  enrolling.SetResourceQuota(grpc::ResourceQuota("enrollment")
                                 .Resize(kEnrollmentMemoryBytes)
                                 .SetMaxThreads(kEnrollmentThreads));
  enrolling.AddListeningPort(config.enrollment_listen, ServerTlsCredentials(core.resources.tls),
                             &enrollment_port);
  enrolling.RegisterService(&enrollments);
  ASSIGN_OR_RETURN(enrollment_server, StartServer(enrolling, config.enrollment_listen,
                                                  "enrollment_listen", enrollment_port));
  ASSIGN_OR_RETURN(metrics_server, StartMetricsServer(config, metrics));
  if (config.boot_listen == "off") return absl::OkStatus();
  ASSIGN_OR_RETURN(boot_server,
                   boot::StartBootServer(config.boot_listen, {.boots = work.boots,
                                                              .images = *core.resources.images,
                                                              .chunks = work.root_chunks}));
  return absl::OkStatus();
}

void Front::Shutdown(absl::Time deadline) {
  boot_server.reset();
  metrics_server.reset();
  web.reset();
  pool.Stop();
  const auto until = absl::ToChronoTime(deadline);
  if (enrollment_server != nullptr) enrollment_server->Shutdown(until);
  if (server != nullptr) server->Shutdown(until);
}

}  // namespace muster::controller
