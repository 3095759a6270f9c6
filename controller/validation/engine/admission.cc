#include "controller/validation/engine/admission.h"

#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/digest.h"
#include "common/base/id.h"
#include "common/base/status.h"
#include "controller/claim/node_claims.h"
#include "controller/gate/job_gate.h"
#include "controller/session/agent_sessions.h"
#include "controller/store/store.h"
#include "controller/store/stored_facts.h"
#include "controller/store/tables.h"
#include "controller/validation/engine/active_validation.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::validation {
namespace {

constexpr size_t kSeedBytes = 32;
// Nodes that get a job just when they are asked for: each costs two questions to Slurm.
constexpr int kMaxWitnessTries = 3;

absl::Status Claim(NodeClaims& claims, const ValidationRecord& record,
                   const std::vector<std::string>& nodes) {
  return claims.Claim(
      {record.validation_id,
       absl::StrCat("validation ", record.validation_id, " of ", record.created_by, " (suite ",
                    record.suite, ") tests"),
       absl::StrCat("wait for it (muster validate watch ", record.validation_id,
                    "), cancel it (muster validate cancel ", record.validation_id, ")"),
       record.created_at},
      nodes);
}

std::vector<std::string> NamesOf(const ActiveValidation& validation) {
  std::vector<std::string> names;
  for (const ValidationNode& node : validation.state.nodes()) names.push_back(node.name);
  return names;
}

}  // namespace

absl::StatusOr<std::map<std::string, EnrolledNode>> EnrolledNodes(Store& store) {
  std::map<std::string, EnrolledNode> enrolled;
  RETURN_IF_ERROR(store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      if (node.state != NodeRecord::kEnrolled && node.state != NodeRecord::kConfigured) continue;
      enrolled[node.name].uuid = node.uuid;
    }
    return absl::OkStatus();
  }));
  v1::Facts parsed;
  RETURN_IF_ERROR(ForEachFacts(store, [&](const std::string& name, const std::string& facts) {
    const auto found = enrolled.find(name);
    if (found != enrolled.end() && parsed.ParseFromString(facts)) {
      found->second.found = FoundOn(parsed);
    }
  }));
  return enrolled;
}

absl::StatusOr<std::unique_ptr<ActiveValidation>> PrepareValidation(
    const ValidationCollaborators& with, const ValidationRecord& record,
    std::shared_ptr<const Inventory> inventory, const std::map<std::string, EnrolledNode>& enrolled,
    std::vector<CheckPart> stored) {
  v1::CreateValidationRequest request;
  request.ParseFromString(record.request);
  ASSIGN_OR_RETURN(const auto site, with.load_bundle(request.bundle_sha256()));
  ASSIGN_OR_RETURN(PreparedSuite prepared,
                   PrepareSuite(site, request.suite(), request.nodes(), std::move(inventory),
                                enrolled, with.catalog));
  const std::string too_much =
      ValidationState::CheckSize(prepared.suite, prepared.nodes.size(), request.max_rounds());
  if (!too_much.empty()) return absl::InvalidArgumentError(too_much);
  auto validation = std::make_unique<ActiveValidation>(
      record, std::move(request), std::move(prepared), std::move(stored), with.store);
  validation->record.suite_digest = validation->prepared.digest;
  return validation;
}

absl::Status ClaimNodes(NodeClaims& claims, const ActiveValidation& validation) {
  return Claim(claims, validation.record, NamesOf(validation));
}

Admission::Admission(const ValidationCollaborators& with,
                     std::unique_ptr<ActiveValidation> validation)
    : with_(with), id_(validation->record.validation_id), validation_(std::move(validation)) {}

Admission::Admission(Admission&& other)
    : with_(other.with_),
      id_(std::exchange(other.id_, "")),
      is_held_(other.is_held_),
      validation_(std::move(other.validation_)) {}

Admission::~Admission() {
  if (id_.empty()) return;
  if (validation_ != nullptr) with_.claims.Release(id_);
  if (is_held_) with_.gate.Release(id_);
}

absl::StatusOr<Admission> Admission::Open(const ValidationCollaborators& with,
                                          const v1::CreateValidationRequest& request,
                                          const Actor& actor) {
  ASSIGN_OR_RETURN(auto latest, with.latest_inventory());
  ValidationRecord record;
  record.validation_id = NewShortId("v");
  record.suite = request.suite();
  record.request = request.SerializeAsString();
  record.created_by = actor.name;
  record.created_at = with.clock.Now();
  record.inventory_revision = latest.first;
  record.pair_seed = absl::BytesToHexString(RandomBytes(kSeedBytes));
  ASSIGN_OR_RETURN(const auto enrolled, EnrolledNodes(with.store));
  ASSIGN_OR_RETURN(
      std::unique_ptr<ActiveValidation> prepared,
      PrepareValidation(with, record, std::move(latest.second), enrolled, /*stored=*/{}));
  RETURN_IF_ERROR(ClaimNodes(with.claims, *prepared));
  return Admission(with, std::move(prepared));
}

absl::Status Admission::Hold() {
  is_held_ = true;
  return with_.gate.Hold(id_, NamesOf(*validation_), validation_->request.force());
}

void Admission::BorrowWitness() {
  std::vector<std::string> nodes = WitnessCandidates();
  if (nodes.empty()) return;
  nodes = with_.gate.WhomToBorrow(nodes);
  int tries = 0;
  for (const std::string& node : nodes) {
    if (++tries > kMaxWitnessTries) return;
    if (!Claim(with_.claims, validation_->record, {node}).ok()) continue;
    // Never by force: a witness's job goes before somebody else's validation.
    absl::Status status = with_.gate.Hold(id_, {node}, /*force=*/false);
    if (status.ok()) status = AddWitness(node);
    if (status.ok()) return;
    with_.claims.ReleaseNode(id_, node);
  }
}

std::vector<std::string> Admission::WitnessCandidates() const {
  std::vector<std::string> connected;
  for (const ValidationNode& node : validation_->prepared.witnesses) {
    if (with_.sessions.IsConnected(node.uuid)) connected.push_back(node.name);
  }
  const std::set<std::string> held = with_.claims.HeldOf(connected);
  std::vector<std::string> free;
  for (std::string& name : connected) {
    if (held.count(name) == 0) free.push_back(std::move(name));
  }
  return free;
}

absl::Status Admission::AddWitness(const std::string& node) {
  ASSIGN_OR_RETURN(auto enrolled, EnrolledNodes(with_.store));
  enrolled[node].is_witness = true;
  ASSIGN_OR_RETURN(std::unique_ptr<ActiveValidation> prepared,
                   PrepareValidation(with_, validation_->record, validation_->prepared.inventory,
                                     enrolled, /*stored=*/{}));
  validation_ = std::move(prepared);
  return absl::OkStatus();
}

std::unique_ptr<ActiveValidation> Admission::Take() { return std::move(validation_); }

}  // namespace muster::controller::validation
