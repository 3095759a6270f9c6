#include "controller/run/secret_rotation.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/run/plan/play_compilation.h"
#include "controller/run/plan/values_of_facts.h"
#include "controller/run/run_records.h"
#include "controller/store/tables.h"
#include "muster/v1/plan.pb.h"
#include "muster/v1/run.pb.h"
#include "muster/v1/secret.pb.h"

namespace muster::controller {
namespace {

// For compilations in which only the names of secrets matter: makes none and opens none.
class NamesOnly final : public SecretSource {
 public:
  absl::StatusOr<std::string> Get(absl::string_view, std::optional<uint32_t>,
                                  const SecretReader&) override {
    return std::string("secret");
  }
  absl::StatusOr<std::string> GetNext(absl::string_view, const SecretReader&) override {
    return std::string("secret");
  }
};

// Enough to know where to look.
constexpr size_t kMaxPlaces = 5;
constexpr uint32_t kRunsLookedAt = 200;

// The lines that contain the secret's name as a string, in either kind of quotes, and call
// secret().
std::vector<std::string> FindSecret(const FileTree& site, const std::string& name) {
  std::vector<std::string> places;
  for (const auto& [path, content] : site) {
    size_t number = 0;
    for (const absl::string_view line : absl::StrSplit(content, '\n')) {
      ++number;
      const bool reads = absl::StrContains(line, "secret(") &&
                         (absl::StrContains(line, absl::StrCat("'", name, "'")) ||
                          absl::StrContains(line, absl::StrCat("\"", name, "\"")));
      if (!reads) continue;
      places.push_back(absl::StrCat(path, ":", number));
      if (places.size() == kMaxPlaces) return places;
    }
  }
  return places;
}

absl::Status CheckPhaseRun(Transaction& txn, const std::string& run_id,
                           const RotationRecord& rotation) {
  absl::StatusOr<RunRecord> run = txn.runs().Get(run_id);
  if (!run.ok()) return run.status();
  const v1::CreateRunRequest request = RequestOf(*run);
  const std::string tag = rotation.phase == RotationRecord::kStaging ? kStageTag : kSwitchTag;
  const bool fits = request.playbook() == rotation.playbook && request.tags_size() == 1 &&
                    request.tags(0) == tag && request.limit() == rotation.node_limit &&
                    !request.check_only() && run->created_at >= rotation.phase_at;
  if (!fits) {
    return absl::FailedPreconditionError(absl::StrCat(
        "run ", run_id, " is not the one that the rotation of ", rotation.name,
        " waits for: ", rotation.playbook, " --tags ", tag, " --limit ", rotation.node_limit,
        ", started after ", absl::FormatTime("%H:%M:%SZ", rotation.phase_at, absl::UTCTimeZone())));
  }
  if (run->state == RunRecord::kSucceeded) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("run ", run_id, " did not succeed on every node, so the rotation of ",
                   rotation.name, " stays where it is; see `muster run show ", run_id,
                   "`, then `muster secret rotate ", rotation.name, " --resume` or --abandon"));
}

}  // namespace

std::string RotationPlaybook(absl::string_view site_playbook, absl::string_view secret) {
  const size_t slash = site_playbook.rfind('/');
  const absl::string_view folder =
      slash == absl::string_view::npos ? "" : site_playbook.substr(0, slash + 1);
  return absl::StrCat(folder, "rotate_", secret, ".yaml");
}

v1::SecretRotation ToProto(const RotationRecord& rotation) {
  v1::SecretRotation out;
  out.set_phase(static_cast<v1::RotationPhase>(rotation.phase));
  out.set_next_version(rotation.version);
  out.set_playbook(rotation.playbook);
  out.set_limit(rotation.node_limit);
  *out.mutable_started_at() = ToTimestamp(rotation.started_at);
  out.set_started_by(rotation.started_by);
  return out;
}

absl::StatusOr<SecretRotations::Users> SecretRotations::FindUsers(
    const v1::RotateSecretRequest& request, const std::string& playbook) {
  Users found;
  ASSIGN_OR_RETURN(const FileTree site, with_.load_bundle(request.bundle_sha256()));
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with_.inventory.Latest());
  ASSIGN_OR_RETURN(const FactsByNode facts, ReadAllFacts(with_.store));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Playbook> loaded,
                   with_.compiler.Load(site, request.site_playbook()));
  NamesOnly names;
  std::set<std::string> seen;
  std::vector<std::string> users;
  const size_t plays = with_.compiler.Plays(*loaded).size();
  for (size_t play = 0; play < plays; ++play) {
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                     with_.compiler.SelectNodes(*loaded, play, *inventory.inventory, ""));
    with_.compiler.Compile(
        *loaded, play, *inventory.inventory, facts, nodes, {}, names, kPlanBatch,
        [&](std::vector<NodePlan> plans) {
          // A node whose plan does not compile, for instance for lack of facts, counts by the
          // secrets that it asked for.
          for (const NodePlan& plan : plans) {
            const auto roles = plan.secrets.find(request.name());
            if (roles == plan.secrets.end()) continue;
            if (seen.insert(plan.node).second) users.push_back(plan.node);
            for (const std::string& role : roles->second) {
              std::vector<std::string>& of_role = found.nodes_of_role[role];
              if (std::find(of_role.begin(), of_role.end(), plan.node) == of_role.end())
                of_role.push_back(plan.node);
            }
          }
          return true;
        });
  }
  found.has_playbook = site.count(playbook) > 0;
  if (!found.has_playbook) return found;
  ASSIGN_OR_RETURN(const std::shared_ptr<const Playbook> rotation,
                   with_.compiler.Load(site, playbook));
  RETURN_IF_ERROR(Annotate(with_.compiler.CheckTags(*rotation, {kStageTag, kSwitchTag}), playbook));
  std::set<std::string> named;
  for (size_t play = 0; play < with_.compiler.Plays(*rotation).size(); ++play) {
    ASSIGN_OR_RETURN(const std::vector<std::string> nodes,
                     with_.compiler.SelectNodes(*rotation, play, *inventory.inventory, ""));
    named.insert(nodes.begin(), nodes.end());
  }
  RETURN_IF_ERROR(Sort(users, found));
  std::vector<std::string> forgotten;
  for (const std::string& user : found.connected) {
    if (named.count(user) == 0) forgotten.push_back(user);
  }
  if (forgotten.empty()) return found;
  return absl::FailedPreconditionError(
      absl::StrCat(playbook, " has no play for ", FoldHostlist(std::move(forgotten)),
                   ", which use secret ", request.name(), ": add them to its `hosts`"));
}

absl::Status SecretRotations::Sort(const std::vector<std::string>& users, Users& found) {
  std::map<std::string, std::string> uuid_of;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<NodeRecord> nodes, txn.nodes().List());
    for (const NodeRecord& node : nodes) {
      const bool is_in =
          node.state == NodeRecord::kEnrolled || node.state == NodeRecord::kConfigured;
      // A node that never had a run holds no value yet, and gets the new one with its first.
      if (is_in && !node.last_run_id.empty()) uuid_of[node.name] = node.uuid;
    }
    return absl::OkStatus();
  }));
  for (const std::string& name : users) {
    const auto uuid = uuid_of.find(name);
    if (uuid == uuid_of.end()) continue;
    (with_.sessions.IsConnected(uuid->second) ? found.connected : found.missing).push_back(name);
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> SecretRotations::VersionOf(const std::string& name) {
  uint32_t version = 0;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const SecretRecord secret, txn.secrets().Get(name));
    version = secret.version;
    return absl::OkStatus();
  }));
  return version;
}

absl::StatusOr<v1::RotateSecretResponse> SecretRotations::Rotate(
    const v1::RotateSecretRequest& request, const Actor& actor) {
  const std::string& name = request.name();
  ASSIGN_OR_RETURN(const uint32_t version, VersionOf(name));
  std::string playbook = RotationPlaybook(request.site_playbook(), name);
  if (request.action() != v1::ROTATION_ACTION_START) {
    ASSIGN_OR_RETURN(const RotationRecord rotation, secrets_.FindRotation(name));
    playbook = rotation.playbook;
  }
  ASSIGN_OR_RETURN(Users users, FindUsers(request, playbook));
  v1::RotateSecretResponse response;
  response.set_version(version);
  for (const auto& [role, nodes] : users.nodes_of_role) {
    v1::SecretUse& use = *response.add_uses();
    use.set_role(role);
    for (const std::string& node : nodes) use.add_nodes(node);
  }
  const bool is_start = request.action() == v1::ROTATION_ACTION_START;
  if (is_start && (!users.has_playbook || (users.connected.empty() && users.missing.empty()))) {
    ASSIGN_OR_RETURN(const uint32_t next, secrets_.Replace(name, request.bytes(), actor));
    response.set_version(next);
    return response;
  }
  if (!users.missing.empty() && !request.without_missing()) {
    const std::string missing = FoldHostlist(users.missing);
    return absl::FailedPreconditionError(
        absl::StrCat(missing, " use", users.missing.size() == 1 ? "s" : "", " secret ", name,
                     " and ", users.missing.size() == 1 ? "is" : "are",
                     " not connected. Bring the agent back (`systemctl status muster-agent` "
                     "there), or pass --without-missing: the others then cannot talk to ",
                     missing, " until it is back and `muster apply` has brought it the new value"));
  }
  if (users.connected.empty())
    return absl::FailedPreconditionError(
        absl::StrCat("no node that uses secret ", name, " is connected"));
  for (const std::string& node : users.missing) response.add_missing(node);
  const std::string limit = FoldHostlist(users.connected);
  std::optional<RotationRecord> rotation;
  if (is_start) {
    ASSIGN_OR_RETURN(rotation,
                     secrets_.BeginRotation(name, request.bytes(), playbook, limit, actor));
  } else if (request.action() == v1::ROTATION_ACTION_RESUME) {
    ASSIGN_OR_RETURN(rotation, secrets_.ResumeRotation(name, limit, actor));
  } else {
    ASSIGN_OR_RETURN(rotation, secrets_.AbandonRotation(name, limit, actor));
  }
  if (rotation.has_value()) *response.mutable_rotation() = ToProto(*rotation);
  return response;
}

absl::StatusOr<std::vector<std::string>> SecretRotations::PlacesOf(const std::string& name) {
  std::string bundle;
  RETURN_IF_ERROR(with_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(const std::vector<RunRecord> runs, txn.runs().List(kRunsLookedAt));
    for (const RunRecord& run : runs) {
      const v1::CreateRunRequest request = RequestOf(run);
      if (request.check_only()) continue;
      bundle = request.bundle_sha256();
      break;
    }
    return absl::OkStatus();
  }));
  if (bundle.empty()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const FileTree site, with_.load_bundle(bundle));
  return FindSecret(site, name);
}

absl::StatusOr<v1::AdvanceRotationResponse> SecretRotations::Advance(
    const v1::AdvanceRotationRequest& request, const Actor& actor) {
  ASSIGN_OR_RETURN(const std::optional<RotationRecord> rotation,
                   secrets_.AdvanceRotation(
                       request.name(),
                       [&](Transaction& txn, const RotationRecord& now) {
                         return CheckPhaseRun(txn, request.run_id(), now);
                       },
                       actor));
  v1::AdvanceRotationResponse response;
  if (rotation.has_value()) *response.mutable_rotation() = ToProto(*rotation);
  ASSIGN_OR_RETURN(const uint32_t version, VersionOf(request.name()));
  response.set_version(version);
  return response;
}

}  // namespace muster::controller
