// Reads the section `health:`; internal to controller/inventory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "common/yaml/map_reader.h"
#include "controller/inventory/errors.h"
#include "controller/inventory/health_policy.h"
#include "controller/inventory/inventory.h"

namespace muster::controller {

// Reads the entries of all files first, then resolves them. Used once.
class HealthPolicyReader {
 public:
  // `errors` must outlive the object.
  explicit HealthPolicyReader(Errors& errors) : errors_(errors) {}

  // One entry of the section: what is written for a group.
  void Read(const yaml::Document& document, const yaml::Entry& entry);
  // Once groups have their nodes. With errors the policy is of no use.
  std::shared_ptr<const HealthPolicy> Resolve(const Inventory& inventory);

 private:
  // What is written for one group; absent: as the more general group has it.
  struct Section {
    std::string group;
    Origin origin;
    std::map<std::string, v1::HealthAction, std::less<>> conditions;
    std::optional<bool> observe_only;
    std::optional<std::string> retest;
    std::optional<absl::Duration> good_time;
    std::optional<absl::Duration> cool_down;
    std::optional<absl::Duration> reboot_interval;
    std::optional<Reference> max_drained;
    absl::Duration window = absl::Minutes(10);
    v1::HealthSettings settings;
  };

  void ReadConditions(const yaml::Document& document, const yaml::Node& node, Section& section);
  void ReadBreaker(const yaml::Document& document, const yaml::Node& node, Section& section);
  void ReadSiteConditions(const yaml::Document& document, const yaml::Node& node, Section& section);
  void ReadSiteCondition(const yaml::Document& document, const yaml::Entry& entry,
                         Section& section);
  void ReadDisabled(const yaml::Document& document, const yaml::Node& node, Section& section);
  void ReadLimits(const yaml::Document& document, const yaml::Node& node, Section& section);
  void ReadXidActions(const yaml::Document& document, const yaml::Node& node, Section& section);
  // A time between the bounds, of that key.
  std::optional<absl::Duration> ReadTime(const yaml::Document& document, yaml::MapReader& reader,
                                         absl::string_view key, absl::Duration least,
                                         absl::Duration most);
  // Whether it is a map; an error was reported otherwise.
  bool IsMap(const yaml::Document& document, const yaml::Node& node, absl::string_view key);
  void ResolveBreakers(const Inventory& inventory);
  // The rules of nodes in these groups, general before special.
  std::shared_ptr<const HealthRules> Merge(const std::vector<const Section*>& sections) const;

  Errors& errors_;
  std::shared_ptr<HealthPolicy> policy_ = std::make_shared<HealthPolicy>();
  std::map<std::string, Section> sections_;  // by group
  // Names of conditions that may be a site's own, which another file may define.
  std::vector<Reference> named_;
};

}  // namespace muster::controller
