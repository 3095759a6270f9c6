#include "controller/playbook/compile/scopes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "controller/playbook/compile/shared_values.h"
#include "controller/playbook/words.h"

namespace muster::controller::playbook {
namespace {

constexpr int64_t kMaxSecretBytes = 65536;

// Ten million steps take one processor a second. The limit for all templates of a node together:
// the node of slurmctld renders some files that have lines for each node and each GPU of the
// cluster.
constexpr size_t kStepsOfNode = 20'000'000;
constexpr size_t kStepsOfNodePerNode = 10'000;
// What one template or expression may take more for each node of the cluster: a gres.conf has a
// line for each GPU of each node.
constexpr size_t kStepsOfEachPerNode = 5'000;
// The additional limit of a request, and for each of its nodes: a node's own files, some lines
// each, are rendered for each node; shared files are rendered once.
constexpr size_t kStepsOfRequest = 40'000'000;
constexpr size_t kStepsOfRequestPerNode = 50'000;

size_t StepsOfNode(const Inventory& inventory) {
  return kStepsOfNode + kStepsOfNodePerNode * inventory.nodes().size();
}

size_t MoreStepsOfEach(const Inventory& inventory) {
  return kStepsOfEachPerNode * inventory.nodes().size();
}

// The names whose values grow with the cluster.
constexpr absl::string_view kClusterNames[] = {"nodes", "groups", "partitions", "racks"};

bool IsOfClusterName(absl::string_view name) {
  return std::find(std::begin(kClusterNames), std::end(kClusterNames), name) !=
         std::end(kClusterNames);
}

constexpr char kSecretUse[] =
    "use secret('name'), secret('name', bytes=32) to have it generated, or secret('name', "
    "next=true) for the next value of a rotation";

}  // namespace

PlayScope::PlayScope(const Inventory& inventory, const FactsByNode& facts,
                     const std::map<std::string, Value>& extra_vars, const ControllerOffer& offer,
                     SecretSource& secrets, std::string playbook, size_t node_count)
    : inventory_(inventory),
      secrets_(secrets),
      allowance_(StepsOfNode(inventory) + kStepsOfRequest + kStepsOfRequestPerNode * node_count,
                 MoreStepsOfEach(inventory), "the templates of this request"),
      facts_(facts) {
  scope_.SetAllowance(&allowance_);
  reader_.playbook = std::move(playbook);
  for (const auto& [name, value] : extra_vars) {
    const std::string wrong = CheckGivenVariable(name);
    if (!wrong.empty()) {
      status_ = absl::InvalidArgumentError(absl::StrCat("-e ", name, ": ", wrong));
      continue;
    }
    absl::StatusOr<ValueTemplate> parsed =
        ValueTemplate::FromValue(value, {.file = absl::StrCat("-e ", name)});
    if (parsed.ok()) {
      extra_.emplace(name, *std::move(parsed));
    } else {
      status_ = parsed.status();
    }
  }
  scope_.Set("cluster", inventory.cluster());
  scope_.Set("domain", inventory.domain());
  scope_.Set("muster", OfferValue(offer));
  scope_.SetLookup(
      [this](absl::string_view name) { return FindShared(name); },
      [] { return std::vector<std::string>(std::begin(kClusterNames), std::end(kClusterNames)); });
  scope_.SetFunction("secret", [this](const std::vector<Value>& positional, const Value& named) {
    return GetSecret(positional, named);
  });
}

const Value* PlayScope::FindFacts(const std::string& node) const {
  const auto found = facts_.find(node);
  return found == facts_.end() ? nullptr : &found->second;
}

const ValueTemplate* PlayScope::FindExtra(absl::string_view name) const {
  const auto found = extra_.find(name);
  return found == extra_.end() ? nullptr : &found->second;
}

std::vector<std::string> PlayScope::ExtraNames() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : extra_) names.push_back(name);
  return names;
}

absl::StatusOr<const ValueTemplate*> PlayScope::Parse(const Variable& variable) {
  const auto found = parsed_.find(variable.value.get());
  if (found != parsed_.end()) return &found->second;
  ASSIGN_OR_RETURN(ValueTemplate parsed,
                   variable.written.has_value()
                       ? ValueTemplate::FromYaml(*variable.written, variable.written->root(),
                                                 Scalars::kTyped, Keys::kLiteral)
                       : ValueTemplate::FromValue(*variable.value, {.file = variable.place.file}));
  return &parsed_.emplace(variable.value.get(), std::move(parsed)).first->second;
}

const Value* PlayScope::FindShared(absl::string_view name) {
  const auto found = shared_.find(name);
  if (found != shared_.end()) return &found->second;
  Value value;
  if (name == "nodes") {
    value = NodesValue(inventory_, facts_, &shared_vars_);
  } else if (name == "groups") {
    value = GroupsValue(inventory_);
  } else if (name == "partitions") {
    value = PartitionsValue(inventory_);
  } else if (name == "racks") {
    value = RacksValue(inventory_);
  } else {
    return nullptr;
  }
  return &shared_.emplace(std::string(name), std::move(value)).first->second;
}

absl::StatusOr<Value> PlayScope::GetSecret(const std::vector<Value>& positional,
                                           const Value& named) {
  if (positional.size() != 1 || !positional[0].is_string() || positional[0].empty()) {
    return absl::InvalidArgumentError(kSecretUse);
  }
  std::optional<uint32_t> bytes;
  bool next = false;
  for (const auto& [key, value] : named.items()) {
    if (key == "next" && value.is_boolean()) {
      next = value.get<bool>();
      continue;
    }
    if (key != "bytes" || !value.is_number_integer() || value.get<int64_t>() < 1 ||
        value.get<int64_t>() > kMaxSecretBytes) {
      return absl::InvalidArgumentError(kSecretUse);
    }
    bytes = static_cast<uint32_t>(value.get<int64_t>());
  }
  if (next && bytes.has_value()) return absl::InvalidArgumentError(kSecretUse);
  const std::string name = positional[0].get<std::string>();
  asked_.insert(name);
  const auto found = secret_values_.find({reader_.role, name, next});
  if (found != secret_values_.end()) return found->second;
  const absl::StatusOr<std::string> text =
      next ? secrets_.GetNext(name, reader_) : secrets_.Get(name, bytes, reader_);
  if (absl::IsNotFound(text.status())) {
    return absl::NotFoundError(
        next ? absl::StrCat("no rotation of secret '", name,
                            "' is running, so it has no next value: start one with `muster secret "
                            "rotate ",
                            name, "`")
             : absl::StrCat("there is no secret '", name, "': set it with `muster secret set ",
                            name, "`, or pass bytes= to have it generated"));
  }
  if (!text.ok()) return Annotate(text.status(), absl::StrCat("secret '", name, "'"));
  return secret_values_.emplace(std::make_tuple(reader_.role, name, next), MakeSecret(*text))
      .first->second;
}

NodeScope::NodeScope(PlayScope& play, const Node& node)
    : play_(play),
      node_(node),
      allowance_(StepsOfNode(play.inventory()), MoreStepsOfEach(play.inventory()),
                 absl::StrCat("the templates of node ", node.name), &play.allowance()),
      scope_(&play.scope()) {
  scope_.SetAllowance(&allowance_);
  scope_.Set("node", NodeValue(node));
  if (const Value* facts = play.FindFacts(node.name)) {
    has_facts_ = true;
    // Does not share ownership: the facts outlive the play.
    scope_.Share("facts", std::shared_ptr<const Value>(std::shared_ptr<void>(), facts));
  }
  for (Variable& variable : VariablesOf(play.inventory(), node)) {
    variables_.insert_or_assign(variable.name, std::move(variable));
  }
}

void NodeScope::SetStack(const std::string& name, std::shared_ptr<const Value> value) {
  stack_name_ = name;
  scope_.Share(kStackVariable, std::move(value));
}

const Variable* NodeScope::FindVariable(absl::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

std::vector<std::string> NodeScope::VariableNames() const {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_) names.push_back(name);
  return names;
}

RoleScope::RoleScope(NodeScope& node, const Role& role)
    : node_(node), role_(role), scope_(&node.scope()) {
  scope_.SetLookup([this](absl::string_view name) { return Find(name); },
                   [this] {
                     std::vector<std::string> names = node_.VariableNames();
                     for (const auto& [name, value] : role_.defaults) names.push_back(name);
                     for (std::string& name : node_.play().ExtraNames()) names.push_back(name);
                     return names;
                   });
}

absl::StatusOr<const ValueTemplate*> RoleScope::Define(absl::string_view name) const {
  if (IsReserved(name)) return nullptr;
  if (const ValueTemplate* extra = node_.play().FindExtra(name)) return extra;
  if (const Variable* variable = node_.FindVariable(name)) return node_.play().Parse(*variable);
  const auto found = role_.defaults.find(name);
  return found == role_.defaults.end() ? nullptr : &found->second.value;
}

std::string RoleScope::PlaceOf(absl::string_view name) const {
  if (node_.play().FindExtra(name) != nullptr) return "-e";
  if (const Variable* variable = node_.FindVariable(name)) return variable->place.ToString();
  const auto found = role_.defaults.find(name);
  return found == role_.defaults.end() ? "" : found->second.place;
}

absl::StatusOr<const Value*> RoleScope::Find(absl::string_view name) {
  const auto found = found_.find(name);
  if (found != found_.end()) return found->second;
  ASSIGN_OR_RETURN(const ValueTemplate* const definition, Define(name));
  if (definition == nullptr) return nullptr;
  if (definition->constant()) return &definition->value();
  const bool again = std::find(rendering_.begin(), rendering_.end(), name) != rendering_.end();
  rendering_.emplace_back(name);
  if (again) {
    const std::string chain = absl::StrJoin(rendering_, " → ");
    rendering_.pop_back();
    return absl::InvalidArgumentError(
        absl::StrCat("variable '", name, "' refers to itself: ", chain));
  }
  const absl::StatusOr<const Value*> value = Evaluate(*definition);
  rendering_.pop_back();
  if (!value.ok()) {
    return Annotate(value.status(), absl::StrCat("in variable '", name, "' (", PlaceOf(name), ")"));
  }
  return found_.emplace(name, *value).first->second;
}

absl::StatusOr<const Value*> RoleScope::Evaluate(const ValueTemplate& definition) {
  const tmpl::Template* const text = definition.text();
  KeptValues& kept = node_.play().kept();
  std::optional<std::string> key;
  // Secrets are recorded for each node that asks for them.
  if (text != nullptr && IsOfCluster(*text) && !MayRead(*text, "secret")) key = CacheKey(*text);
  if (key.has_value()) {
    if (const Value* const value = kept.Find(*key)) return value;
  }
  ASSIGN_OR_RETURN(Value value, definition.Evaluate(scope_));
  if (key.has_value() && kept.has_room()) return kept.Keep(*key, std::move(value));
  return &own_.emplace_back(std::move(value));
}

bool RoleScope::IsOfCluster(const tmpl::Template& source) {
  const auto [known, is_new] = node_.play().of_cluster().try_emplace(&source.names(), false);
  if (!is_new) return known->second;
  std::vector<const tmpl::Template*> waiting = {&source};
  std::set<const void*> seen;
  while (!waiting.empty()) {
    const std::vector<std::string>& names = waiting.back()->names();
    waiting.pop_back();
    if (!seen.insert(&names).second) continue;
    for (const std::string& name : names) {
      if (IsOfClusterName(name)) return known->second = true;
      const absl::StatusOr<const ValueTemplate*> definition = Define(name);
      if (definition.ok() && *definition != nullptr && (*definition)->text() != nullptr)
        waiting.push_back((*definition)->text());
    }
  }
  return false;
}

std::optional<std::string> RoleScope::CacheKey(const tmpl::Template& source) {
  for (const absl::string_view own : {"node", "facts", "item"})
    if (MayRead(source, own)) return std::nullopt;
  std::string key = absl::StrCat(reinterpret_cast<uintptr_t>(&source));
  for (const std::string& name : source.names()) {
    if (name == kStackVariable) {
      absl::StrAppend(&key, ";stack=", node_.stack_name());
      continue;
    }
    const absl::StatusOr<const ValueTemplate*> definition = Define(name);
    if (!definition.ok()) return std::nullopt;
    if (*definition == nullptr) continue;  // shared by all nodes, or unknown to all
    if ((*definition)->constant()) {
      absl::StrAppend(&key, ";", name, "@", reinterpret_cast<uintptr_t>(&(*definition)->value()));
      continue;
    }
    const absl::StatusOr<const Value*> value = Find(name);
    if (!value.ok()) return std::nullopt;
    if (node_.play().kept().Has(*value)) {
      absl::StrAppend(&key, ";", name, "@", reinterpret_cast<uintptr_t>(*value));
      continue;
    }
    absl::StrAppend(&key, ";", name, "=",
                    Sha256Hex((*value)->dump(-1, ' ', false, Value::error_handler_t::replace)));
  }
  return key;
}

}  // namespace muster::controller::playbook
