// Values that the nodes of a play share, because making them takes long.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/container/flat_hash_set.h"
#include "common/value/secret_value.h"

namespace muster::controller::playbook {

// Values of variables that are made from the whole cluster and the same on many nodes, by
// RoleScope::CacheKey. Only the first kMost are kept: a variable that each node has another value
// of would be thousands of long lists. Not thread-safe.
class KeptValues {
 public:
  static constexpr size_t kMost = 128;

  // nullptr: none is kept. The pointers stay good as long as the object.
  const Value* Find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool has_room() const { return values_.size() < kMost; }
  const Value* Keep(const std::string& key, Value value) {
    return *places_.insert(&values_.emplace(key, std::move(value)).first->second).first;
  }
  // Whether Find() or Keep() has returned it.
  bool Has(const Value* value) const { return places_.contains(value); }

 private:
  std::unordered_map<std::string, Value> values_;
  absl::flat_hash_set<const Value*> places_;
};

}  // namespace muster::controller::playbook
