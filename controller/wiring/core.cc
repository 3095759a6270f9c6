#include "controller/wiring/core.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/pki/certificate.h"
#include "common/sys/file_system.h"
#include "controller/config.h"
#include "controller/enrollment/sealed_token.h"
#include "controller/enrollment/trusted_network.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/self_join.h"
#include "controller/log.h"
#include "controller/store/soci/store.h"
#include "controller/store/tables.h"

namespace muster::controller {
namespace {

constexpr absl::Duration kSweepInterval = absl::Seconds(1);

std::string CredentialsDirectory() {  // systemd's LoadCredential=
  const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory == nullptr ? "" : directory;
}

absl::StatusOr<uint64_t> GibOf(absl::string_view text, absl::string_view setting) {
  uint32_t gib = 0;
  if (absl::SimpleAtoi(text, &gib)) return uint64_t{gib} << 30;
  return absl::InvalidArgumentError(absl::StrCat(setting, " is not a whole number of GiB"));
}

TokenRequests::Rule RuleOf(StoredInventory& inventory, absl::string_view name) {
  const absl::StatusOr<InventoryVersion> latest = inventory.Latest();
  const Node* const node = latest.ok() ? latest->inventory->FindNode(name) : nullptr;
  if (node == nullptr) return {};
  SelfJoin rule = SelfJoinOf(*latest->inventory, *node);
  std::vector<IpNetwork> trusted;
  for (const std::string& text : rule.trusted_networks) {
    const absl::StatusOr<IpNetwork> network = IpNetwork::Parse(text);
    if (network.ok()) trusted.push_back(*network);  // checked with the inventory
  }
  // Only what boots from the network has a reason to ask.
  return {.may_ask = rule.mode != SelfJoin::Mode::kNo && !node->macs.empty(),
          .needs_tpm = rule.mode == SelfJoin::Mode::kTpm,
          .endorsement_key = std::move(rule.endorsement_key),
          .macs = node->macs,
          .trusted_networks = std::move(trusted)};
}

absl::StatusOr<std::string> PinOfIssuer(const TlsIdentity& tls) {
  const absl::StatusOr<std::string> issuer = pki::IssuerOf(tls.certificate_pem, tls.ca_pem);
  if (issuer.ok()) return pki::Sha256Pin(*issuer);
  return Annotate(
      issuer.status(),
      "controller.crt does not verify against ca.crt, so no node would trust this controller; run "
      "`muster ca rotate` if a change of the authority was interrupted");
}

}  // namespace

absl::StatusOr<Resources> OpenResources(const Config& config, Clock& clock,
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
  ASSIGN_OR_RETURN(const uint64_t snapshot_bytes, GibOf(config.snapshot_gib, "snapshot_gib"));
  ASSIGN_OR_RETURN(std::unique_ptr<snapshot::SnapshotStore> snapshots,
                   snapshot::SnapshotStore::Open(absl::StrCat(config.state_directory, "/snapshots"),
                                                 snapshot_bytes));
  ASSIGN_OR_RETURN(const uint64_t image_bytes, GibOf(config.image_gib, "image_gib"));
  ASSIGN_OR_RETURN(
      std::unique_ptr<image::ImageStore> images,
      image::ImageStore::Open(absl::StrCat(config.state_directory, "/images"), image_bytes));
  for (const std::string& fault : images->faults()) LogWarning(fault);
  return Resources{.store = std::move(store),
                   .blobs = std::move(blobs),
                   .secrets = std::move(secrets),
                   .snapshots = std::move(snapshots),
                   .images = std::move(images),
                   .ca = std::move(ca),
                   .tls = std::move(tls),
                   .join_pin = std::move(join_pin),
                   .tpm_key_file = absl::StrCat(config.state_directory, "/tpm_key.pem")};
}

Core::Core(Resources opened, Clock& clock)
    : clock(clock),
      resources(std::move(opened)),
      shares(clock),
      inventory(*resources.store),
      registry(*resources.store, clock, listeners),
      enrollment(*resources.store, resources.ca, denylist, clock,
                 {[this](absl::string_view name) { return inventory.Knows(name); },
                  [this](absl::string_view uuid, absl::string_view words) {
                    registry.Disconnect(uuid, absl::PermissionDeniedError(words));
                  }}),
      token_requests(
          *resources.store, clock,
          {[this](absl::string_view name) { return RuleOf(inventory, name); },
           [this](const pki::EndorsementKey& key, absl::string_view key_name,
                  absl::string_view secret) {
             return SealToken({processes, files, resources.tpm_key_file}, key, key_name, secret);
           },
           [this](absl::string_view address) {
             // Of the process, because the unit hides the rest of /proc.
             const absl::StatusOr<std::string> table = files.Read("/proc/self/net/arp");
             return table.ok() ? NeighborMac(*table, address) : "";
           },
           [this](absl::string_view uuid) { return registry.IsConnected(uuid); }}),
      session_log([this](absl::string_view uuid) { return NameOf(*resources.store, uuid); }),
      facts(*resources.store, clock),
      open_calls(denylist, clock),
      sweeper(clock, [this] {
        open_calls.Sweep();
        registry.Sweep();
        return this->clock.Now() + kSweepInterval;
      }) {
  listeners.Attach(session_log);
  listeners.Attach(facts);
}

void Core::Start() {
  registry.Start();
  sweeper.Start();
}

void Core::Stop() {
  sweeper.Stop();
  registry.Stop();
  facts.Stop();
}

}  // namespace muster::controller
