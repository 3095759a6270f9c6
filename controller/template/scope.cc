#include "controller/template/scope.h"

#include <nlohmann/json.hpp>

namespace muster::tmpl {

void Scope::Set(absl::string_view name, Value value) {
  Share(name, std::make_shared<Value>(std::move(value)));
}

void Scope::Share(absl::string_view name, std::shared_ptr<const Value> value) {
  values_[std::string(name)] = std::move(value);
}

void Scope::SetFunction(absl::string_view name, Function function) {
  functions_[std::string(name)] = std::move(function);
}

void Scope::SetLookup(Lookup lookup, std::function<std::vector<std::string>()> names) {
  lookup_ = std::move(lookup);
  lookup_names_ = std::move(names);
}

absl::StatusOr<std::shared_ptr<const Value>> Scope::Find(absl::string_view name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (lookup_) {
    absl::StatusOr<const Value*> value = lookup_(name);
    if (!value.ok()) return value.status();
    if (*value != nullptr) {
      // Does not share ownership: the pointee outlives the rendering.
      return std::shared_ptr<const Value>(std::shared_ptr<void>(), *value);
    }
  }
  if (parent_ != nullptr) return parent_->Find(name);
  return std::shared_ptr<const Value>();
}

Allowance* Scope::allowance() const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    if (scope->allowance_ != nullptr) return scope->allowance_;
  }
  return nullptr;
}

const Scope::Function* Scope::FindFunction(absl::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    const auto found = scope->functions_.find(name);
    if (found != scope->functions_.end()) return &found->second;
  }
  return nullptr;
}

std::vector<std::string> Scope::VariableNames() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& [name, value] : scope->values_) names.push_back(name);
    if (scope->lookup_names_) {
      for (std::string& name : scope->lookup_names_()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> Scope::FunctionNames() const {
  std::vector<std::string> names;
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& [name, function] : scope->functions_) names.push_back(name);
  }
  return names;
}

}  // namespace muster::tmpl
