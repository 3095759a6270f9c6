#include "controller/inventory/update_policy.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/base/proto_time.h"
#include "common/base/text/hostlist.h"
#include "controller/inventory/builder.h"
#include "controller/inventory/names.h"
#include "controller/inventory/words.h"
#include "controller/rollout/plan/limits.h"
#include "controller/rollout/plan/window.h"

namespace muster::controller {
namespace {

using Request = v1::CreateRolloutRequest;

// The keys that are options of `muster update`, under the same names.
struct NumberKey {
  const char* key;
  void (Request::*set)(uint32_t);
  uint32_t (Request::*get)() const;
};
constexpr NumberKey kNumbers[] = {
    {"canary", &Request::set_canary, &Request::canary},
    {"max_per_rack", &Request::set_max_per_rack, &Request::max_per_rack},
    {"max_per_switch", &Request::set_max_per_switch, &Request::max_per_switch},
    {"failure_budget", &Request::set_failure_budget, &Request::failure_budget},
};

constexpr Word<v1::DrainTimeoutAction> kTimeoutActions[] = {
    {"wait", v1::DRAIN_TIMEOUT_ACTION_WAIT},
    {"skip", v1::DRAIN_TIMEOUT_ACTION_SKIP},
    {"requeue", v1::DRAIN_TIMEOUT_ACTION_REQUEUE}};
constexpr Word<v1::RolloutFailureAction> kFailureActions[] = {
    {"pause", v1::ROLLOUT_FAILURE_ACTION_PAUSE},
    {"rollback", v1::ROLLOUT_FAILURE_ACTION_ROLL_BACK}};
constexpr Word<v1::RebootMode> kRebootModes[] = {{"auto", v1::REBOOT_MODE_AUTO},
                                                 {"always", v1::REBOOT_MODE_ALWAYS},
                                                 {"never", v1::REBOOT_MODE_NEVER}};

}  // namespace

void InventoryBuilder::ReadUpdate(const yaml::Document& document, const yaml::Entry& entry) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "policy");
  UpdateSource source;
  source.origin = origin;
  source.policy = std::make_shared<UpdatePolicy>();
  UpdatePolicy& policy = *source.policy;
  policy.name = entry.key;
  policy.place = origin.ToPlace();
  std::string playbook;
  if (errors_.Add(reader.Required("playbook", &playbook))) {
    errors_.Check(Origin{&document, entry.value.Find("playbook")->mark()},
                  CheckPlaybookPath(playbook));
    policy.request.set_playbook(playbook);
  }
  source.nodes = ReadRestriction(document, reader, "nodes");
  for (const Reference& window : ReadRestriction(document, reader, "window")) {
    const absl::Status parsed = rollout::ParseWindow(window.text).status();
    errors_.Check(window.origin, std::string(parsed.message()));
    policy.request.add_windows(window.text);
  }
  bool login_and_storage = false;
  errors_.Add(reader.Optional("login_and_storage", &login_and_storage));
  policy.request.set_login_and_storage(login_and_storage);
  ReadLimits(document, entry, reader, source);
  if (entry.value.IsMap()) errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckName("policy", policy.name))) return;
  if (const UpdatePolicy* first = inventory_.FindUpdate(policy.name)) {
    errors_.Add(origin, absl::StrCat("duplicate update policy ", policy.name, ", first in ",
                                     first->place.ToString()));
    return;
  }
  inventory_.updates_.push_back(source.policy);
  update_sources_.push_back(std::move(source));
}

void InventoryBuilder::ReadLimits(const yaml::Document& document, const yaml::Entry& entry,
                                  yaml::MapReader& reader, UpdateSource& source) {
  Request& request = source.policy->request;
  const auto place_of = [&](absl::string_view key) {
    return Origin{&document, entry.value.Find(key)->mark()};
  };
  for (const NumberKey& row : kNumbers) {
    int number = -1;
    if (!errors_.Add(reader.Optional(row.key, &number)) || entry.value.Find(row.key) == nullptr)
      continue;
    if (number < 0) {
      errors_.Add(place_of(row.key),
                  absl::StrCat(row.key, " must be a number of nodes, 0 or more"));
      continue;
    }
    (request.*row.set)(static_cast<uint32_t>(number));
  }
  source.waves = ReadRestriction(document, reader, "waves");
  for (const Reference& wave : source.waves) request.add_waves(wave.text);
  source.max_unavailable = ReadReference(document, reader, "max_unavailable");
  if (source.max_unavailable.has_value()) request.set_max_unavailable(source.max_unavailable->text);
  absl::Duration soak, drain_timeout;
  if (errors_.Add(reader.Optional("soak", &soak)) && entry.value.Find("soak") != nullptr)
    *request.mutable_soak() = ToProtoDuration(soak);
  if (errors_.Add(reader.Optional("drain_timeout", &drain_timeout)) &&
      entry.value.Find("drain_timeout") != nullptr) {
    *request.mutable_drain_timeout() = ToProtoDuration(drain_timeout);
  }
  if (const std::optional<Reference> word = ReadReference(document, reader, "on_timeout")) {
    v1::DrainTimeoutAction action = v1::DRAIN_TIMEOUT_ACTION_WAIT;
    errors_.Check(word->origin, ParseWord(kTimeoutActions, "action", word->text, &action));
    request.set_on_timeout(action);
    if (!request.has_drain_timeout())
      errors_.Add(word->origin, "on_timeout needs a drain_timeout, such as 4h");
  }
  if (const std::optional<Reference> word = ReadReference(document, reader, "on_failure")) {
    v1::RolloutFailureAction action = v1::ROLLOUT_FAILURE_ACTION_PAUSE;
    errors_.Check(word->origin, ParseWord(kFailureActions, "action", word->text, &action));
    request.set_on_failure(action);
  }
  if (const std::optional<Reference> word = ReadReference(document, reader, "reboot")) {
    v1::RebootMode mode = v1::REBOOT_MODE_AUTO;
    errors_.Check(word->origin, ParseWord(kRebootModes, "mode", word->text, &mode));
    request.set_reboots(mode);
    errors_.Check(word->origin, std::string(rollout::CheckReboots(request).message()));
  }
  if (const std::optional<Reference> suite = ReadReference(document, reader, "suite"))
    request.set_suite(suite->text);
}

void InventoryBuilder::ResolveUpdates() {
  for (UpdateSource& source : update_sources_) {
    UpdatePolicy& policy = *source.policy;
    std::vector<Reference> references = source.nodes;
    if (references.empty()) references.push_back({"compute", source.origin});
    const std::optional<std::vector<const Node*>> nodes =
        ResolveWorkers(references, absl::StrCat("update policy ", policy.name),
                       "only workers are updated by policy; others are by muster apply");
    if (!nodes.has_value()) continue;
    for (const Node* node : *nodes) policy.nodes.push_back(node->name);
    if (!source.nodes.empty())
      policy.request.set_limit(absl::StrCat(
          FoldHostlist(policy.nodes), policy.request.login_and_storage() ? ",login,storage" : ""));
    if (policy.nodes.empty()) {
      errors_.Add(source.origin, absl::StrCat("update policy ", policy.name,
                                              " has no nodes: set 'nodes', or add compute nodes"));
      continue;
    }
    const auto check = [&](const std::optional<Reference>& written, const Request& limits) {
      if (!written.has_value()) return;
      const auto resolved =
          rollout::ResolveLimits(limits, static_cast<uint32_t>(policy.nodes.size()));
      errors_.Check(written->origin, std::string(resolved.status().message()));
    };
    Request waves;
    *waves.mutable_waves() = policy.request.waves();
    if (policy.request.has_canary()) waves.set_canary(policy.request.canary());
    if (!source.waves.empty()) check(source.waves.front(), waves);
    Request unavailable;
    unavailable.set_max_unavailable(policy.request.max_unavailable());
    check(source.max_unavailable, unavailable);
  }
}

nlohmann::ordered_json ToValue(const UpdatePolicy& policy) {
  const Request& request = policy.request;
  nlohmann::ordered_json value = {{"playbook", request.playbook()},
                                  {"nodes", FoldHostlist(policy.nodes)}};
  const auto list = [&value](const char* key, const auto& words) {
    if (!words.empty()) value[key] = std::vector<std::string>(words.begin(), words.end());
  };
  if (request.login_and_storage()) value["login_and_storage"] = true;
  list("window", request.windows());
  if (request.has_canary()) value["canary"] = request.canary();
  list("waves", request.waves());
  if (!request.max_unavailable().empty()) value["max_unavailable"] = request.max_unavailable();
  for (const NumberKey& row : kNumbers) {
    if (const uint32_t number = (request.*row.get)(); number > 0) value[row.key] = number;
  }
  if (request.has_soak()) value["soak"] = absl::FormatDuration(ToDuration(request.soak()));
  if (request.has_drain_timeout())
    value["drain_timeout"] = absl::FormatDuration(ToDuration(request.drain_timeout()));
  if (request.on_timeout() != v1::DRAIN_TIMEOUT_ACTION_UNSPECIFIED)
    value["on_timeout"] = std::string(WordOf(kTimeoutActions, request.on_timeout()));
  if (request.on_failure() != v1::ROLLOUT_FAILURE_ACTION_UNSPECIFIED)
    value["on_failure"] = std::string(WordOf(kFailureActions, request.on_failure()));
  if (request.reboots() != v1::REBOOT_MODE_UNSPECIFIED)
    value["reboot"] = std::string(WordOf(kRebootModes, request.reboots()));
  if (!request.suite().empty()) value["suite"] = request.suite();
  return value;
}

}  // namespace muster::controller
