#include "controller/wiring/work.h"

#include <sys/utsname.h>

#include <cstdlib>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/checks/catalog.h"
#include "common/pki/certificate.h"
#include "common/sys/boot_id.h"
#include "common/sys/file_system.h"
#include "common/value/node_reboot.h"
#include "controller/backup/backup_record.h"
#include "controller/config.h"
#include "controller/console/sol_line.h"
#include "controller/gate/open_gate.h"
#include "controller/gate/service_candidates.h"
#include "controller/gate/slurm_jobs.h"
#include "controller/log.h"
#include "controller/power/open_bmc.h"
#include "controller/run/plan/earlier_approvals.h"
#include "controller/service/front/run_mandate.h"
#include "controller/slurm/slurmctld_node.h"
#include "controller/store/tables.h"
#include "controller/wiring/core.h"
#include "controller/wiring/node_reboot.h"
#include "controller/wiring/offer.h"
#include "controller/wiring/rollout_suite.h"
#include "muster/v1/plan_file.pb.h"
#include "muster/v1/rollout.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/validation.pb.h"

namespace muster::controller {
namespace {

// As of the start.
power::OwnMachine OwnMachineOf(const Config& config, sys::FileSystem& files) {
  power::OwnMachine own;
  // musterd's unit hides the kernel's file from it.
  const char* const told = std::getenv("MUSTER_BOOT_ID");
  own.boot_id = told != nullptr ? told : sys::ReadBootId(files).value_or("");
  utsname system{};
  const absl::string_view host_name = uname(&system) == 0 ? system.nodename : "";
  own.names = power::OwnNames(host_name, HostOf(config.controller_address));
  return own;
}

absl::Duration LongestBackup(const Config& config) {
  uint32_t hours = 0;
  const bool is_set = absl::SimpleAtoi(config.backup_hours, &hours) && hours > 0;
  return is_set ? absl::Hours(hours) : absl::InfiniteDuration();
}

absl::Time EndOf(absl::string_view certificate_pem) {
  const absl::StatusOr<pki::Certificate> certificate = pki::ParseCertificate(certificate_pem);
  return certificate.ok() ? certificate->not_after : absl::InfiniteFuture();
}

// As of the start, like the servers.
notify::CertificateEnds EndsOfCertificates(const Config& config, const Resources& resources) {
  notify::CertificateEnds ends;
  ends.authority = resources.ca.ends_at();
  ends.controller = EndOf(resources.tls.certificate_pem);
  if (config.web_listen == "off" || config.web_certificate.empty()) return ends;
  sys::RealFileSystem files;
  if (const auto pem = files.Read(config.web_certificate); pem.ok()) ends.web = EndOf(*pem);
  return ends;
}

}  // namespace

Work::Work(const Config& config, Core& core)
    : core_(core),
      notifications(ForNotifications(config)),
      slurm_agent(
          core.registry, core.clock, [this] { return FindSlurmctld(); }, [this] { WakeGate(); }),
      slurm(
          slurm_agent, [this] { return IsSlurmGivenUp(); }, [this] { return WasSlurmSeen(); }),
      gate(MakeGate(config)),
      drains(gate->is_shut() ? std::make_unique<validation::RebootDrains>(*gate, slurm, core.clock)
                             : nullptr),
      validations(ForValidations()),
      follow_ups(
          *core.resources.store, core.registry, core.clock,
          [this](const v1::CreateValidationRequest& request, const RunValidationRecord& asked_by) {
            return validations.Create(request, ControllerActor(), &asked_by).status();
          },
          [this](const std::vector<std::string>& nodes) {
            std::set<std::string> busy = claims.HeldOf(nodes);
            busy.merge(validation::NodesWithJobs(slurm, nodes));
            return busy;
          }),
      approvals(*core.resources.store, core.clock, BundleLoader(*core.resources.blobs),
                config.operator_bundles == "approved"),
      consoles(ForConsoles()),
      boots(ForBoots(config)),
      root_chunks(core.resources.images->artifacts(), core.clock),
      runs(ForRuns(config)),
      rollouts(ForRollouts(config)),
      policies(ForRollouts(config), rollouts),
      drift(ForDrift()),
      health(ForHealth()),
      rotations(ForRuns(config), *core.resources.secrets),
      commands(*core.resources.store, core.registry, core.clock, LogWarning),
      readings(core.registry, core.clock),
      own_machine(OwnMachineOf(config, core.files)),
      power(ForPower()),
      rescue(
          *core.resources.store, core.registry, core.inventory, core.clock, power, own_machine,
          [this](const std::string& node) { consoles.OnBootSeen(node); }, LogWarning),
      timelines(*core.resources.store, core.clock),
      housekeeper(*core.resources.store, *core.resources.blobs, *core.resources.images, core.clock,
                  LogWarning) {
  core.facts.Attach([this](const std::string& uuid, const FactsRequest& request,
                           const absl::Status& refused) { OnFacts(uuid, request, refused); });
  core.listeners.Attach(slurm_agent);
  core.listeners.Attach(runs);
  core.listeners.Attach(validations);
  core.listeners.Attach(commands);
  core.listeners.Attach(health);
  core.listeners.Attach(readings);
}

absl::Status Work::Start() {
  // What the gate knew is old when it is shut again, and there need be no Slurm then.
  if (service_gate_ == nullptr)
    RETURN_IF_ERROR(core_.resources.store->Update(&validation::ForgetSlurm));
  RETURN_IF_ERROR(AdoptEarlierRuns(*core_.resources.store, approvals));
  RETURN_IF_ERROR(core_.facts.RefuseBadFacts());
  RETURN_IF_ERROR(boots.Start());
  RETURN_IF_ERROR(runs.Start());
  RETURN_IF_ERROR(validations.Start());
  RETURN_IF_ERROR(follow_ups.Resume());
  RETURN_IF_ERROR(rollouts.Resume());
  follow_ups.Start();
  rollouts.Start();
  policies.Start();
  drift.Start();
  commands.Start();
  consoles.Start();
  power.Start();
  rescue.Start();
  timelines.Start();
  RETURN_IF_ERROR(health.Resume());
  health.Start();
  if (service_gate_ != nullptr) service_gate_->Start();
  if (drains != nullptr) drains->Start();
  housekeeper.Start();
  notifications.Start();
  return absl::OkStatus();
}

void Work::EndStreams() {
  slurm_agent.Stop();
  commands.Stop();
  power.EndWatches();
  runs.EndWatches();
  validations.EndWatches();
  rollouts.EndWatches();
  timelines.Stop();
}

void Work::Stop() {
  housekeeper.Stop();
  rescue.Stop();
  power.Stop();
  consoles.Stop();
  health.Stop();
  drift.Stop();
  policies.Stop();
  rollouts.Stop();
  if (drains != nullptr) drains->Stop();
  if (service_gate_ != nullptr) service_gate_->Stop();
  follow_ups.Stop();
  validations.Stop();
  runs.Stop();
  boots.Stop();
  notifications.Stop();
}

absl::StatusOr<slurm::SlurmctldPlace> Work::FindSlurmctld() {
  ASSIGN_OR_RETURN(const InventoryVersion latest, core_.inventory.Latest());
  ASSIGN_OR_RETURN(const std::vector<std::string> nodes, slurm::SlurmctldNodes(*latest.inventory));
  std::vector<slurm::SlurmctldPlace> joined;
  RETURN_IF_ERROR(core_.resources.store->View([&](Transaction& txn) -> absl::Status {
    for (const std::string& name : nodes) {
      const absl::StatusOr<NodeRecord> node = txn.nodes().GetByName(name);
      if (absl::IsNotFound(node.status())) continue;
      RETURN_IF_ERROR(node.status());
      joined.push_back({name, node->uuid});
    }
    return absl::OkStatus();
  }));
  if (joined.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat(nodes.front(), ", where slurmctld runs, has not joined"));
  }
  return slurm::PlaceToAsk(joined, core_.registry);
}

bool Work::CanAskSlurm() {
  const absl::StatusOr<slurm::SlurmctldPlace> place = FindSlurmctld();
  return place.ok() && core_.registry.IsConnected(place->uuid);
}

bool Work::IsSlurmGivenUp() {
  // With the gate off nobody has to have Slurm, whatever was there before.
  if (service_gate_ == nullptr) return true;
  const absl::StatusOr<InventoryVersion> latest = core_.inventory.Latest();
  return latest.ok() && !slurm::HasPlaceForSlurmctld(*latest->inventory);
}

absl::StatusOr<bool> Work::WasSlurmSeen() {
  bool was_seen = false;
  RETURN_IF_ERROR(core_.resources.store->View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(was_seen, validation::HasSeenSlurm(txn));
    return absl::OkStatus();
  }));
  return was_seen;
}

std::unique_ptr<validation::JobGate> Work::MakeGate(const Config& config) {
  if (config.slurm_gate != "on")
    return std::make_unique<validation::OpenGate>(slurm, [this] { return CanAskSlurm(); });
  auto made = std::make_unique<validation::ServiceGate>(
      *core_.resources.store, slurm, core_.clock, LogWarning, [this] { rollouts.LookAgain(); });
  service_gate_ = made.get();
  return made;
}

void Work::WakeGate() {
  if (service_gate_ != nullptr) service_gate_->Wake();
}

absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> Work::LatestInventory() {
  ASSIGN_OR_RETURN(InventoryVersion latest, core_.inventory.Latest());
  return std::make_pair(latest.revision, std::move(latest.inventory));
}

notify::NotifyCollaborators Work::ForNotifications(const Config& config) {
  return {
      .store = *core_.resources.store,
      .clock = core_.clock,
      .latest_inventory = [this] { return LatestInventory(); },
      .make_channel =
          [this](notify::ChannelConfig config) {
            return notify::MakeChannel(std::move(config), *core_.resources.secrets);
          },
      .warn = LogWarning,
      .last_backup = [folder = config.state_directory] { return ReadBackupRecord(folder); },
      .longest_backup = LongestBackup(config),
      .certificate_ends = EndsOfCertificates(config, core_.resources),
  };
}

validation::ValidationCollaborators Work::ForValidations() {
  return {
      .store = *core_.resources.store,
      .sessions = core_.registry,
      .clock = core_.clock,
      .claims = claims,
      .gate = *gate,
      .catalog = checks::Checks(),
      .latest_inventory = [this] { return LatestInventory(); },
      .inventory = [this](uint64_t revision) { return core_.inventory.Get(revision); },
      .load_bundle = BundleLoader(*core_.resources.blobs),
  };
}

health::HealthCollaborators Work::ForHealth() {
  return {
      .store = *core_.resources.store,
      .sessions = core_.registry,
      .gate = *gate,
      .clock = core_.clock,
      .latest_inventory =
          [this]() -> absl::StatusOr<std::pair<uint64_t, std::shared_ptr<const Inventory>>> {
        ASSIGN_OR_RETURN(InventoryVersion latest, core_.inventory.Latest());
        return std::make_pair(latest.revision, std::move(latest.inventory));
      },
      .start_validation =
          [this](const v1::CreateValidationRequest& request) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const v1::Validation validation,
                         validations.Create(request, ControllerActor()));
        return validation.validation_id();
      },
      .reboot =
          {
              .start = [this](const std::string& node, const std::string& reason)
                  -> absl::StatusOr<std::string> { return StartReboot(node, reason); },
              .call_off =
                  [this](const std::string& rollout_id, const std::string& reason) {
                    return rollouts
                        .Change(rollout_id, rollout::RolloutEvent::kAborted, reason,
                                ControllerActor())
                        .status();
                  },
          },
      .notify =
          [this](const health::Notice& notice) {
            LogWarning(health::Line(notice));
            notify::Notification told;
            told.kind = notice.is_breaker ? "health.breaker" : std::string(health::kConditionKind);
            if (notice.severity == v1::CONDITION_SEVERITY_FATAL)
              told.severity = notify::Severity::kCritical;
            told.nodes = notice.nodes;
            told.key = notice.condition;
            told.text = notice.text;
            told.resolved = notice.is_resolved;
            notifications.Post(std::move(told));
          },
      .warn = LogWarning,
  };
}

absl::StatusOr<std::string> Work::StartReboot(const std::string& node, const std::string& reason) {
  v1::CreateRolloutRequest request = NodeRebootRequest(node, reason);
  ASSIGN_OR_RETURN(
      *request.mutable_bundle_sha256(),
      StoreRebootBundle(*core_.resources.store, *core_.resources.blobs, core_.clock.Now()));
  RunActor actor;
  static_cast<Actor&>(actor) = ControllerActor();
  actor.mandate.actor = actor.name;
  ASSIGN_OR_RETURN(const v1::Rollout rollout, rollouts.Create(request, actor));
  return rollout.rollout_id();
}

RunCollaborators::OrderImage Work::OrdersOfImages(const Config& config) {
  if (config.boot_listen == "off") return nullptr;
  return [this](const std::string& order_id, const std::string& node, const std::string& image,
                const Actor& actor, absl::FunctionRef<absl::Status(Transaction&)> also) {
    return boots.OrderForDisk(order_id, node, image, actor, also);
  };
}

RunCollaborators Work::ForRuns(const Config& config) {
  return {
      .store = *core_.resources.store,
      .sessions = core_.registry,
      .compiler = compiler,
      .inventory = core_.inventory,
      .secrets = *core_.resources.secrets,
      .clock = core_.clock,
      .load_bundle = BundleLoader(*core_.resources.blobs),
      .put_blob = BlobKeeper(*core_.resources.blobs),
      .cluster = {config.cluster, core_.resources.ca.pin()},
      .claims = &claims,
      .on_service_changed =
          [this] {
            WakeGate();
            rollouts.Wake();  // a run may have ended that a node's update waits for
          },
      .check_ending =
          [](const FileTree& site, const PlaybookEnding& ending,
             std::shared_ptr<const Inventory> of) {
            return validation::CheckEnding(site, ending.suite, ending.nodes, std::move(of),
                                           checks::Checks());
          },
      .on_ended = [this](const std::string& run_id) { follow_ups.OnRunEnded(run_id); },
      .may_catch_up =
          [this](const RunMandate& mandate) {
            return CheckMandate(mandate, *core_.resources.store, core_.denylist, core_.clock.Now());
          },
      .offer = [this, config] { return OfferOf(config, *core_.resources.snapshots); },
      .approvals = &approvals,
      .drains = drains.get(),
      .order_image = OrdersOfImages(config),
      // Also while the boot server is off: an order would count when it is on again.
      .take_back_image = [this](const std::string& order_id,
                                const std::string& node) { return boots.TakeBack(order_id, node); },
  };
}

rollout::RolloutCollaborators Work::ForRollouts(const Config& config) {
  return {
      .store = *core_.resources.store,
      .sessions = core_.registry,
      .slurm = slurm,
      .gate = *gate,
      .claims = claims,
      .inventory = core_.inventory,
      .clock = core_.clock,
      .preview_run = [this](const v1::CreateRunRequest& request,
                            const RunActor& actor) { return runs.Preview(request, actor); },
      .start_run = [this](const v1::CreateRunRequest& request,
                          const RunActor& actor) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const v1::Run run, runs.Create(request, actor));
        return run.run_id();
      },
      .plan_file = [this](const std::string& sha256) { return runs.PlanFileOf(sha256); },
      .suite_for = [this, with = ForRuns(config)](
                       const v1::CreateRolloutRequest& request,
                       const std::vector<std::string>& nodes,
                       const Actor& actor) -> absl::StatusOr<std::string> {
        // The suite with which an approved playbook ends is approved with it.
        if (!request.suite().empty())
          RETURN_IF_ERROR(approvals.MayValidate(actor.name, request.bundle_sha256()));
        return SuiteForRollout(with, request, nodes);
      },
      .start_validation = [this](const v1::CreateValidationRequest& request,
                                 const Actor& actor) -> absl::StatusOr<std::string> {
        ASSIGN_OR_RETURN(const v1::Validation validation, validations.Create(request, actor));
        return validation.validation_id();
      },
      .may_continue =
          [this](const RunMandate& mandate) {
            return CheckMandate(mandate, *core_.resources.store, core_.denylist, core_.clock.Now());
          },
      .warn = LogWarning,
  };
}

console::ConsoleCaptures::Means Work::ForConsoles() {
  return {
      .clock = core_.clock,
      .secrets = *core_.resources.secrets,
      .inventory = [this]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
        ASSIGN_OR_RETURN(InventoryVersion latest, core_.inventory.Latest());
        return std::move(latest.inventory);
      },
      .is_connected =
          [this](const std::string& node) {
            std::string uuid;
            const absl::Status read = core_.resources.store->View([&](Transaction& txn) {
              const absl::StatusOr<NodeRecord> record = txn.nodes().GetByName(node);
              if (record.ok()) uuid = record->uuid;
              return record.status();
            });
            return read.ok() && core_.registry.IsConnected(uuid);
          },
      .open = console::OpenConsole,
  };
}

power::PowerCollaborators Work::ForPower() {
  return {
      .store = *core_.resources.store,
      .clock = core_.clock,
      .secrets = *core_.resources.secrets,
      .claims = claims,
      .slurm = slurm,
      .open_bmc =
          [this](const BmcAccess& access, SecretBuffer password, power::Cancelled cancelled) {
            return power::OpenBmc(access, std::move(password), std::move(cancelled), core_.clock);
          },
      .on_boot = [this](const std::string& node) { consoles.OnBoot(node); },
      .warn = LogWarning,
  };
}

boot::Boots::Means Work::ForBoots(const Config& config) {
  return {
      .store = *core_.resources.store,
      .clock = core_.clock,
      .images = *core_.resources.images,
      .inventory = [this]() -> absl::StatusOr<std::shared_ptr<const Inventory>> {
        ASSIGN_OR_RETURN(InventoryVersion latest, core_.inventory.Latest());
        return std::move(latest.inventory);
      },
      .warn = LogWarning,
      .join = {.node = "",
               .enrollment = config.enrollment_address,
               .controller = config.controller_address,
               .ca_pin = core_.resources.join_pin},
      .listen = config.boot_listen,
      .on_boot = [this](const std::string& node) { consoles.OnBootSeen(node); },
  };
}

drift::DriftCollaborators Work::ForDrift() {
  return {
      .store = *core_.resources.store,
      .sessions = core_.registry,
      .claims = claims,
      .inventory = core_.inventory,
      .clock = core_.clock,
      .start_run = [this](const v1::CreateRunRequest& request,
                          const RunActor& actor) { return runs.Create(request, actor).status(); },
      .start_rollout =
          [this](const v1::CreateRolloutRequest& request, const RunActor& actor) {
            return rollouts.Create(request, actor).status();
          },
      .warn = LogWarning,
  };
}

void Work::OnFacts(const std::string& uuid, const FactsRequest& request,
                   const absl::Status& refused) {
  switch (request.owner) {
    case FactsRequest::Owner::kPlay:
      return runs.OnFactsAnswered(uuid, request.id, refused);
    // A validation waits for facts until its time is over, and then says what is missing.
    case FactsRequest::Owner::kRunEnd:
      if (refused.ok()) follow_ups.OnFactsStored(uuid, request.id);
      return;
    case FactsRequest::Owner::kValidationStart:
    case FactsRequest::Owner::kValidationEnd:
      if (refused.ok()) validations.OnFactsStored(uuid, request);
      return;
    case FactsRequest::Owner::kPerson:
      return;
  }
}

}  // namespace muster::controller
