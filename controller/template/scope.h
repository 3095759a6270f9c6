// The names that a template can see.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/value/secret_value.h"

namespace muster::tmpl {

using muster::Value;

class Allowance;

// Variables and functions for one rendering. Names are looked up in this order: values set here,
// the lookup callback, the parent. Cheap to make one per node over a shared parent.
// Thread-compatible: const use from many threads is safe if the callbacks are.
class Scope {
 public:
  // nullptr: the name is not known here. The pointee must outlive the rendering. An error (a
  // variable whose own template fails) ends the rendering.
  using Lookup = std::function<absl::StatusOr<const Value*>(absl::string_view name)>;
  // `named` is an object. An error is reported at the place of the call; its code is kept.
  using Function = std::function<absl::StatusOr<Value>(const std::vector<Value>& positional,
                                                       const Value& named)>;

  // `parent` may be nullptr and must outlive this scope.
  explicit Scope(const Scope* parent = nullptr) : parent_(parent) {}

  void Set(absl::string_view name, Value value);
  // Shares `value` among scopes instead of copying it.
  void Share(absl::string_view name, std::shared_ptr<const Value> value);
  void SetFunction(absl::string_view name, Function function);
  // `names` lists the names that `lookup` knows, for "did you mean".
  void SetLookup(Lookup lookup, std::function<std::vector<std::string>()> names);

  // The budget shared by renderings with this scope and with inner scopes that have none of their
  // own; must outlive them.
  void SetAllowance(Allowance* allowance) { allowance_ = allowance; }
  // nullptr: there is none.
  Allowance* allowance() const;

  absl::StatusOr<std::shared_ptr<const Value>> Find(absl::string_view name) const;
  const Function* FindFunction(absl::string_view name) const;
  // All known variables, including those of the parents.
  std::vector<std::string> VariableNames() const;
  std::vector<std::string> FunctionNames() const;

 private:
  const Scope* const parent_;
  std::map<std::string, std::shared_ptr<const Value>, std::less<>> values_;
  std::map<std::string, Function, std::less<>> functions_;
  Lookup lookup_;
  Allowance* allowance_ = nullptr;
  std::function<std::vector<std::string>()> lookup_names_;
};

}  // namespace muster::tmpl
