#include "controller/controller.h"

#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include <grpcpp/resource_quota.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "common/base/worker.h"
#include "common/checks/catalog.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"
#include "controller/artifact/blob_store.h"
#include "controller/artifact/bundle_approvals.h"
#include "controller/claim/node_claims.h"
#include "controller/constants.h"
#include "controller/enrollment/authority_change.h"
#include "controller/enrollment/certificate_authority.h"
#include "controller/enrollment/denylist.h"
#include "controller/enrollment/enrollment.h"
#include "controller/enrollment/users.h"
#include "controller/gate/open_gate.h"
#include "controller/gate/service_gate.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/housekeeper.h"
#include "controller/http/package_server.h"
#include "controller/http/packages.h"
#include "controller/log.h"
#include "controller/memory.h"
#include "controller/run/plan/earlier_approvals.h"
#include "controller/run/plan/playbook_compiler.h"
#include "controller/run/plan/stored_inventory.h"
#include "controller/run/run_manager.h"
#include "controller/run/secret_rotation.h"
#include "controller/secret/secret_store.h"
#include "controller/service/artifact_service.h"
#include "controller/service/authority_service.h"
#include "controller/service/enrollment_service.h"
#include "controller/service/event_service.h"
#include "controller/service/explain_service.h"
#include "controller/service/front/call_counter.h"
#include "controller/service/front/call_shares.h"
#include "controller/service/front/credentials.h"
#include "controller/service/front/run_mandate.h"
#include "controller/service/hardware_service.h"
#include "controller/service/inventory_service.h"
#include "controller/service/node_service.h"
#include "controller/service/run_service.h"
#include "controller/service/secret_service.h"
#include "controller/service/token_service.h"
#include "controller/service/user_service.h"
#include "controller/service/validation_service.h"
#include "controller/session/agent_session_service.h"
#include "controller/session/facts_keeper.h"
#include "controller/session/listener_fanout.h"
#include "controller/session/open_calls.h"
#include "controller/session/session_registry.h"
#include "controller/session_log.h"
#include "controller/slurm/agent_slurm_control.h"
#include "controller/slurm/slurmctld_node.h"
#include "controller/store/soci/store.h"
#include "controller/store/store.h"
#include "controller/validation/engine/follow_ups.h"
#include "controller/validation/engine/validation_manager.h"

namespace muster::controller {

// Everything that must exist before the modules that hold references to it.
struct Controller::Resources {
  std::unique_ptr<Store> store;
  std::unique_ptr<DiskBlobStore> blobs;
  std::unique_ptr<SecretStore> secrets;
  CertificateAuthority ca;
  TlsIdentity tls;
  // The pin of the root that signed our own certificate, as join lines name it.
  std::string join_pin;
};

namespace {

std::string CredentialsDirectory() {  // systemd's LoadCredential=
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory == nullptr ? "" : directory;
}

absl::StatusOr<std::string> PinOfIssuer(const TlsIdentity& tls) {
  const absl::StatusOr<std::string> issuer = pki::IssuerOf(tls.certificate_pem, tls.ca_pem);
  if (issuer.ok()) return pki::Sha256Pin(*issuer);
  return Annotate(issuer.status(),
                  "controller.crt does not pass with ca.crt, so no node would believe this "
                  "controller; run `muster ca rotate` if a change of the authority was cut off");
}

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
  builder.AddChannelArgument(GRPC_ARG_HTTP2_HPACK_TABLE_SIZE_DECODER, kHeaderTableBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, Milliseconds(kHandshakeTimeout));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, Milliseconds(kIdleTimeout));
  // gRPC limits the size of a message as it arrives and then unpacks it: 16 MiB may become 16 GiB.
  // Our clients do not compress, so compressed messages are refused.
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(kKeepaliveTime));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(kKeepaliveTimeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             Milliseconds(kMinPingInterval));
}

absl::StatusOr<std::unique_ptr<grpc::Server>> Listen(grpc::ServerBuilder& builder,
                                                     const std::string& address, const char* key,
                                                     const int& port) {
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr && port != 0) return server;
  return absl::UnavailableError(absl::StrCat(
      "cannot listen on ", address, ": is another musterd running, or is the address not of this ",
      "machine? It is set by `", key, "` in controller.yaml"));
}

}  // namespace

absl::StatusOr<Controller::Resources> Controller::Open(const Config& config, Clock& clock,
                                                       sys::FileSystem& files) {
  ASSIGN_OR_RETURN(TlsIdentity tls, LoadTlsIdentity(config.pki_directory));
  ASSIGN_OR_RETURN(CertificateAuthority ca, CertificateAuthority::Load(config.pki_directory));
  ASSIGN_OR_RETURN(std::string join_pin, PinOfIssuer(tls));
  RETURN_IF_ERROR(Annotate(files.MakeDirectory(config.state_directory, 0700), "state_directory"));
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                   OpenStore(absl::StrCat(config.state_directory, "/muster.db")));
  ASSIGN_OR_RETURN(std::unique_ptr<DiskBlobStore> blobs,
                   DiskBlobStore::Open(absl::StrCat(config.state_directory, "/blobs")));
  ASSIGN_OR_RETURN(std::unique_ptr<SecretStore> secrets,
                   SecretStore::Open(*store, clock, files, CredentialsDirectory(),
                                     absl::StrCat(config.state_directory, "/secret_key"),
                                     config.secret_readers == "any" ? SecretReaders::kAny
                                                                    : SecretReaders::kNamed));
  return Resources{std::move(store), std::move(blobs), std::move(secrets),
                   std::move(ca),    std::move(tls),   std::move(join_pin)};
}

// Ordered by reference: destroyed from the last to the first.
struct Controller::Modules {
  Modules(const Config& config, Resources resources, Clock& clock)
      : resources(std::move(resources)),
        shares(clock),
        inventory(*this->resources.store),
        enrollment(*this->resources.store, this->resources.ca, denylist, clock,
                   {[this](absl::string_view name) { return inventory.Knows(name); },
                    [this](absl::string_view uuid, absl::string_view words) {
                      registry.Disconnect(uuid, absl::PermissionDeniedError(words));
                    }}),
        session_log(
            [this](absl::string_view uuid) { return NameOf(*this->resources.store, uuid); }),
        facts(*this->resources.store, clock,
              [this](const std::string& uuid, const FactsRequest& request,
                     const absl::Status& refused) { OnFacts(uuid, request, refused); }),
        listeners({&session_log, &facts, &slurm, &runs, &validations}),
        registry(*this->resources.store, clock, listeners),
        approvals(*this->resources.store, clock, BundleLoader(*this->resources.blobs),
                  config.operator_bundles == "approved"),
        runs(Collaborators(config, clock)),
        slurm(
            registry, clock, [this] { return FindSlurmctld(); },
            [this] {
              if (service_gate != nullptr) service_gate->Wake();
            }),
        gate(MakeGate(config, clock)),
        validations(ValidationParts(clock)),
        run_validations(
            *this->resources.store, registry, clock,
            [this](const v1::CreateValidationRequest& request,
                   const RunValidationRecord& asked_by) {
              return validations.Create(request, {"controller", ""}, &asked_by).status();
            },
            [this](const std::vector<std::string>& nodes) {
              std::set<std::string> busy = claims.HeldOf(nodes);
              busy.merge(validation::NodesWithJobs(slurm, nodes));
              return busy;
            }),
        rotations(Collaborators(config, clock), *this->resources.secrets),
        open_calls(denylist, clock),
        sweeper(clock,
                [this, &clock] {
                  open_calls.Sweep();
                  registry.Sweep();
                  return clock.Now() + absl::Seconds(1);
                }),
        agents(registry, open_calls, enrollment, this->resources.ca.roots().pem,
               *this->resources.blobs,
               [this](absl::string_view node_uuid, absl::string_view sha256) {
                 return runs.MayFetchBlob(node_uuid, sha256);
               }),
        enrollments(enrollment, this->resources.ca.roots().pem),
        tokens(
            enrollment,
            {this->resources.join_pin, config.enrollment_address, config.controller_address,
             [this, folder = config.package_directory, host = HostOf(config.controller_address)] {
               return Packages(folder,
                               absl::StrCat("http://", host, ":", packages->port(), "/packages/"));
             }}),
        nodes(*this->resources.store, inventory, enrollment, registry, facts, slurm, *gate,
              {config.cluster, this->resources.ca.pin(), kVersion, clock.Now(), &clock}),
        artifacts(*this->resources.store, *this->resources.blobs,
                  BundleLoader(*this->resources.blobs), approvals, clock, open_calls),
        events(*this->resources.store),
        secrets(*this->resources.secrets, rotations),
        inventories(*this->resources.store, clock),
        run_service(runs, *this->resources.store, config.cluster, open_calls),
        explanations(*this->resources.store, inventory, *this->resources.secrets,
                     BundleLoader(*this->resources.blobs)),
        people(*this->resources.store, this->resources.ca, denylist, clock,
               [this] { open_calls.Sweep(); }),
        users(people, this->resources.ca.roots().pem, config.controller_address),
        authority(*this->resources.store, this->resources.ca, registry, clock),
        validation_service(validations, run_validations, approvals, *this->resources.store,
                           open_calls),
        hardware_service(*this->resources.store, clock, checks::Checks(),
                         [this]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
                           ASSIGN_OR_RETURN(InventoryVersion latest, inventory.Latest());
                           return std::move(latest.inventory);
                         }),
        housekeeper(*this->resources.store, *this->resources.blobs, clock) {}

  // The facts that a node was asked for are in the store, or refused.
  void OnFacts(const std::string& uuid, const FactsRequest& request, const absl::Status& refused) {
    switch (request.owner) {
      case FactsRequest::Owner::kPlay:
        return runs.OnFactsAnswered(uuid, request.id, refused);
      // A validation waits for facts until its time is over, and then says what is missing.
      case FactsRequest::Owner::kRunEnd:
        if (refused.ok()) run_validations.OnFactsStored(uuid, request.id);
        return;
      case FactsRequest::Owner::kValidationStart:
      case FactsRequest::Owner::kValidationEnd:
        if (refused.ok()) validations.OnFactsStored(uuid, request);
        return;
      case FactsRequest::Owner::kPerson:
        return;
    }
  }

  std::unique_ptr<validation::JobGate> MakeGate(const Config& config, Clock& clock) {
    if (config.slurm_gate != "on") {
      return std::make_unique<validation::OpenGate>(slurm, [this] { return CanAskSlurm(); });
    }
    auto made =
        std::make_unique<validation::ServiceGate>(*resources.store, slurm, clock, LogWarning);
    service_gate = made.get();
    return made;
  }

  RunCollaborators Collaborators(const Config& config, Clock& clock) {
    return {*resources.store,
            registry,
            compiler,
            inventory,
            *resources.secrets,
            clock,
            BundleLoader(*resources.blobs),
            BlobKeeper(*resources.blobs),
            ReturnMemory,
            {config.cluster, resources.ca.pin()},
            &claims,
            [this] {
              if (service_gate != nullptr) service_gate->Wake();
            },
            [](const FileTree& site, const PlaybookEnding& ending,
               std::shared_ptr<const Inventory> of) {
              return validation::CheckEnding(site, ending.suite, ending.nodes, std::move(of),
                                             checks::Checks());
            },
            [this](const std::string& run_id) { run_validations.OnRunEnded(run_id); },
            [this, &clock](const RunMandate& mandate) {
              return CheckMandate(mandate, *resources.store, denylist, clock.Now());
            },
            &approvals};
  }

  absl::StatusOr<slurm::SlurmctldPlace> FindSlurmctld() {
    ASSIGN_OR_RETURN(const InventoryVersion latest, inventory.Latest());
    slurm::SlurmctldPlace place;
    ASSIGN_OR_RETURN(place.node, slurm::SlurmctldNode(*latest.inventory));
    const absl::Status found = resources.store->View([&](Transaction& txn) -> absl::Status {
      ASSIGN_OR_RETURN(const NodeRecord node, txn.nodes().GetByName(place.node));
      place.uuid = node.uuid;
      return absl::OkStatus();
    });
    if (absl::IsNotFound(found)) {
      return absl::FailedPreconditionError(
          absl::StrCat(place.node, ", where slurmctld runs, has not joined"));
    }
    RETURN_IF_ERROR(found);
    return place;
  }

  bool CanAskSlurm() {
    const absl::StatusOr<slurm::SlurmctldPlace> place = FindSlurmctld();
    return place.ok() && registry.IsConnected(place->uuid);
  }

  validation::ValidationCollaborators ValidationParts(Clock& clock) {
    return {*resources.store,
            registry,
            clock,
            claims,
            *gate,
            checks::Checks(),
            [this]() -> absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> {
              ASSIGN_OR_RETURN(InventoryVersion latest, inventory.Latest());
              return std::make_pair(latest.revision, std::move(latest.inventory));
            },
            [this](uint64_t revision) { return inventory.Get(revision); },
            BundleLoader(*resources.blobs)};
  }

  absl::Status Listen(const Config& config) {
    grpc::ServerBuilder main;
    SetCommonOptions(main);
    main.SetMaxReceiveMessageSize(kMaxMessageBytes);
    main.SetResourceQuota(grpc::ResourceQuota("main").Resize(kMemoryBytes).SetMaxThreads(kThreads));
    main.AddListeningPort(config.listen,
                          MutualTlsCredentials(resources.tls, denylist, *clock, shares), &port);
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> counters;
    counters.push_back(std::make_unique<CallCounterFactory>(shares));
    main.experimental().SetInterceptorCreators(std::move(counters));
    for (grpc::Service* service : std::initializer_list<grpc::Service*>{
             &agents, &tokens, &nodes, &artifacts, &events, &secrets, &inventories, &run_service,
             &explanations, &users, &authority, &validation_service, &hardware_service}) {
      main.RegisterService(service);
    }
    ASSIGN_OR_RETURN(server, controller::Listen(main, config.listen, "listen", port));

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
    enrolling.AddListeningPort(config.enrollment_listen, ServerTlsCredentials(resources.tls),
                               &enrollment_port);
    enrolling.RegisterService(&enrollments);
    ASSIGN_OR_RETURN(enrollment_server, controller::Listen(enrolling, config.enrollment_listen,
                                                           "enrollment_listen", enrollment_port));
    return absl::OkStatus();
  }

  void Shutdown(Clock& clock) {
    if (is_shut_down.exchange(true)) return;
    const auto deadline = absl::ToChronoTime(clock.Now() + kShutdownGrace);
    // Streams that would stay open forever end first: then only calls that do something are waited
    // for.
    registry.Close();
    slurm.Stop();
    runs.EndWatches();
    validations.EndWatches();
    if (enrollment_server != nullptr) enrollment_server->Shutdown(deadline);
    if (server != nullptr) server->Shutdown(deadline);
    sweeper.Stop();
    registry.Stop();
    facts.Stop();
    housekeeper.Stop();
    if (service_gate != nullptr) service_gate->Stop();
    run_validations.Stop();
    validations.Stop();
    runs.Stop();
  }

  Resources resources;
  Denylist denylist;
  CallShares shares;
  StoredInventory inventory;
  Enrollment enrollment;
  SessionLog session_log;
  FactsKeeper facts;
  ListenerFanout listeners;
  SessionRegistry registry;
  BundleApprovals approvals;
  PlaybookCompiler compiler;
  NodeClaims claims;
  RunManager runs;
  slurm::AgentSlurmControl slurm;
  validation::ServiceGate* service_gate = nullptr;  // the gate, if there is one to shut
  std::unique_ptr<validation::JobGate> gate;
  validation::ValidationManager validations;
  validation::FollowUps run_validations;
  SecretRotations rotations;
  OpenCalls open_calls;
  Worker sweeper;
  AgentSessionService agents;
  EnrollmentService enrollments;
  TokenService tokens;
  NodeService nodes;
  ArtifactService artifacts;
  EventService events;
  SecretService secrets;
  InventoryService inventories;
  RunService run_service;
  ExplainService explanations;
  Users people;
  UserService users;
  AuthorityService authority;
  ValidationService validation_service;
  HardwareService hardware_service;
  Housekeeper housekeeper;
  std::unique_ptr<PackageServer> packages;
  std::unique_ptr<grpc::Server> enrollment_server;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
  int enrollment_port = 0;
  std::atomic<bool> is_shut_down = false;
  Clock* clock = nullptr;
};

Controller::Controller(std::unique_ptr<Modules> modules) : modules_(std::move(modules)) {}

absl::StatusOr<std::unique_ptr<Controller>> Controller::Start(const Config& config, Clock& clock) {
  sys::RealFileSystem files;
  ASSIGN_OR_RETURN(Resources resources, Open(config, clock, files));
  auto modules = std::make_unique<Modules>(config, std::move(resources), clock);
  modules->clock = &clock;
  RETURN_IF_ERROR(modules->denylist.Load(*modules->resources.store));
  std::unique_ptr<Controller> controller(new Controller(std::move(modules)));
  Modules& all = *controller->modules_;
  ASSIGN_OR_RETURN(all.packages,
                   PackageServer::Start(config.package_listen, config.package_directory));
  RETURN_IF_ERROR(NoteAuthority(*all.resources.store, all.resources.ca, clock.Now()));
  RETURN_IF_ERROR(AdoptEarlierRuns(*all.resources.store, all.approvals));
  RETURN_IF_ERROR(all.facts.RefuseBadFacts());
  RETURN_IF_ERROR(all.runs.Start());
  RETURN_IF_ERROR(all.validations.Start());
  RETURN_IF_ERROR(all.run_validations.Resume());
  all.run_validations.Start();
  if (all.service_gate != nullptr) all.service_gate->Start();
  all.registry.Start();
  all.sweeper.Start();
  all.housekeeper.Start();
  RETURN_IF_ERROR(all.Listen(config));
  return controller;
}

Controller::~Controller() { Shutdown(); }

void Controller::Shutdown() { modules_->Shutdown(*modules_->clock); }

absl::Status Controller::CheckAlive() {
  const auto nothing = [](Transaction&) { return absl::OkStatus(); };
  // A writer that hangs in the disk holds this up, too; errors are reported to those who write.
  modules_->resources.store->Update(nothing).IgnoreError();
  return modules_->resources.store->View(nothing);
}

int Controller::port() const { return modules_->port; }
int Controller::enrollment_port() const { return modules_->enrollment_port; }
int Controller::package_port() const { return modules_->packages->port(); }

}  // namespace muster::controller
