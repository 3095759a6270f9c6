// The names that templates see: shared ones, a node's, a role's.
//
//   RoleScope (item, role defaults and the five levels) → NodeScope (node, facts) → PlayScope
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/kept_values.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/load/value_template.h"
#include "controller/playbook/model.h"
#include "controller/template/allowance.h"
#include "controller/template/scope.h"

namespace muster::controller::playbook {

// The names that all nodes of a play share: cluster, domain, muster, nodes, groups, partitions,
// racks, secret(). The large ones are built when a template first asks for them. Not thread-safe.
class PlayScope {
 public:
  // The references must outlive the scope, which may be used for `node_count` nodes. `playbook` is
  // the path of the play's playbook, for secrets with restricted readers.
  PlayScope(const Inventory& inventory, const FactsByNode& facts,
            const std::map<std::string, Value>& extra_vars, const ControllerOffer& offer,
            SecretSource& secrets, std::string playbook, size_t node_count = 1);

  // From now on secret() asks as this role.
  void ReadAs(const std::string& role) { reader_.role = role; }

  // The errors in the variables of the command line.
  const absl::Status& status() const { return status_; }
  const tmpl::Scope& scope() const { return scope_; }
  const Inventory& inventory() const { return inventory_; }
  // The rest of the budget that the templates of all nodes share.
  tmpl::Allowance& allowance() { return allowance_; }
  const Value* FindFacts(const std::string& node) const;
  // nullptr when `name` was not given on the command line.
  const ValueTemplate* FindExtra(absl::string_view name) const;
  std::vector<std::string> ExtraNames() const;
  // The secrets that were asked for since the last call.
  std::set<std::string> TakeAsked() { return std::exchange(asked_, {}); }
  // The variable's value with its templates parsed, once for all nodes that share it.
  absl::StatusOr<const ValueTemplate*> Parse(const Variable& variable);
  KeptValues& kept() { return kept_; }
  // What RoleScope::IsOfCluster said of a template on the first node, by its names() as an
  // identity.
  absl::flat_hash_map<const void*, bool>& of_cluster() { return of_cluster_; }

 private:
  const Value* FindShared(absl::string_view name);
  absl::StatusOr<Value> GetSecret(const std::vector<Value>& positional, const Value& named);

  const Inventory& inventory_;
  SecretSource& secrets_;
  absl::Status status_;
  tmpl::Allowance allowance_;
  tmpl::Scope scope_;
  std::map<std::string, ValueTemplate, std::less<>> extra_;
  const FactsByNode& facts_;       // lent to shared_["nodes"]
  std::deque<Value> shared_vars_;  // of nodes, lent to it as well
  std::map<std::string, Value, std::less<>> shared_;
  std::unordered_map<const Value*, ValueTemplate> parsed_;
  KeptValues kept_;
  absl::flat_hash_map<const void*, bool> of_cluster_;
  SecretReader reader_;
  std::map<std::tuple<std::string, std::string, bool>, Value> secret_values_;  // role, name, next
  std::set<std::string> asked_;
};

class NodeScope {
 public:
  NodeScope(PlayScope& play, const Node& node);

  PlayScope& play() const { return play_; }
  const tmpl::Scope& scope() const { return scope_; }
  const std::string& name() const { return node_.name; }
  bool has_facts() const { return has_facts_; }
  // From now on templates see the stack.
  void SetStack(const std::string& name, std::shared_ptr<const Value> value);
  const std::string& stack_name() const { return stack_name_; }  // "": none
  // The inventory's variable that wins for the node, or nullptr.
  const Variable* FindVariable(absl::string_view name) const;
  std::vector<std::string> VariableNames() const;

 private:
  PlayScope& play_;
  const Node& node_;
  bool has_facts_ = false;
  std::string stack_name_;
  tmpl::Allowance allowance_;
  tmpl::Scope scope_;
  std::map<std::string, Variable, std::less<>> variables_;
};

// Renders variables that contain templates, each at its first use.
class RoleScope {
 public:
  RoleScope(NodeScope& node, const Role& role);
  RoleScope(const RoleScope&) = delete;
  RoleScope& operator=(const RoleScope&) = delete;

  const tmpl::Scope& scope() const { return scope_; }

  // Two scopes of a play with equal keys render `source` to the same text. nullopt where `source`
  // reads node-specific names.
  std::optional<std::string> CacheKey(const tmpl::Template& source);

 private:
  // nullptr: there is no such variable.
  absl::StatusOr<const ValueTemplate*> Define(absl::string_view name) const;
  // Where Define() has found the variable, for a message.
  std::string PlaceOf(absl::string_view name) const;
  absl::StatusOr<const Value*> Find(absl::string_view name);
  absl::StatusOr<const Value*> Evaluate(const ValueTemplate& definition);
  // Whether `source` looks at the whole cluster, itself or by way of variables: thousands of nodes
  // must not each do that. Decided once for all nodes, though their variables may differ.
  bool IsOfCluster(const tmpl::Template& source);

  NodeScope& node_;
  const Role& role_;
  tmpl::Scope scope_;
  std::map<std::string, const Value*, std::less<>> found_;  // variables with templates
  std::deque<Value> own_;               // those values that the play does not keep
  std::vector<std::string> rendering_;  // variables whose templates are being rendered
};

}  // namespace muster::controller::playbook
