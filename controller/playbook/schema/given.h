// The parameters that rules about several of them look at, for both forms in which parameters come.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "common/yaml/node.h"
#include "controller/playbook/load/value_template.h"
#include "controller/playbook/schema/schema.h"

namespace muster::controller::playbook {

// Parameters as written in a file.
class GivenParams final : public Given {
 public:
  explicit GivenParams(bool in_handler) : in_handler_(in_handler) {}

  void Add(const std::string& key, const ValueTemplate& value) { values_.emplace(key, value); }

  bool Has(absl::string_view key) const override { return values_.find(key) != values_.end(); }
  bool IsConstant(absl::string_view key) const override {
    return values_.find(key)->second.constant();
  }
  std::optional<std::string> Text(absl::string_view key) const override {
    const auto found = values_.find(key);
    if (found == values_.end()) return "";
    if (!found->second.constant()) return std::nullopt;
    return ConstantText(found->second);
  }
  bool in_handler() const override { return in_handler_; }

 private:
  std::map<std::string, ValueTemplate, std::less<>> values_;
  const bool in_handler_;
};

// Parameters that an expression gave for one map of a list. `map` must outlive the object.
class GivenValues final : public Given {
 public:
  explicit GivenValues(const Value& map) : map_(map) {}

  bool Has(absl::string_view key) const override;
  bool IsConstant(absl::string_view) const override { return true; }
  std::optional<std::string> Text(absl::string_view key) const override;
  bool in_handler() const override { return false; }

 private:
  const Value& map_;
};

// Parameters as written in a map, for a resource that is present on one node: those that are `none`
// there are not given. The references must outlive the object.
class GivenOnNode final : public Given {
 public:
  GivenOnNode(const yaml::Node& map, const std::set<std::string>& none) : map_(map), none_(none) {}

  bool Has(absl::string_view key) const override {
    return map_.Find(key) != nullptr && none_.count(std::string(key)) == 0;
  }
  bool IsConstant(absl::string_view) const override { return true; }
  std::optional<std::string> Text(absl::string_view key) const override {
    if (key == "state" || !Has(key)) return "";
    return std::nullopt;
  }
  bool in_handler() const override { return false; }

 private:
  const yaml::Node& map_;
  const std::set<std::string>& none_;
};

}  // namespace muster::controller::playbook
