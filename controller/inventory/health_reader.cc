#include "controller/inventory/health_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/proto_time.h"
#include "common/base/text/nearest_word.h"
#include "common/health/catalogue.h"
#include "common/health/limits.h"
#include "common/health/xid.h"
#include "common/yaml/value.h"
#include "controller/inventory/names.h"
#include "controller/inventory/words.h"

namespace muster::controller {
namespace {

constexpr Word<v1::ConditionSeverity> kSeverities[] = {{"warning", v1::CONDITION_SEVERITY_WARNING},
                                                       {"fatal", v1::CONDITION_SEVERITY_FATAL}};

constexpr size_t kMaxConditionName = 64;
// An agent runs them one after the other at worst.
constexpr int kMaxSiteConditions = 32;
constexpr size_t kMaxArguments = 64;
constexpr size_t kMaxArgumentBytes = 4096;
constexpr absl::Duration kDefaultInterval = absl::Minutes(1);
constexpr absl::Duration kDefaultTimeLimit = absl::Seconds(10);
constexpr int kMaxXid = 1023;
constexpr char kEveryNode[] = "all";

std::string CheckConditionName(absl::string_view name) {
  const bool fits = !name.empty() && name.size() <= kMaxConditionName &&
                    absl::ascii_islower(static_cast<unsigned char>(name[0])) &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
                    });
  if (fits) return "";
  return absl::StrCat("'", name, "' cannot name a condition: use lower-case letters, digits and ",
                      "'_', such as scratch_quota; at most ", kMaxConditionName);
}

// "2" or "10%" of so many workers; "" and *out, or the fault.
std::string ParseMaxDrained(absl::string_view text, size_t workers, uint32_t* out) {
  uint32_t number = 0;
  if (absl::ConsumeSuffix(&text, "%")) {
    if (absl::SimpleAtoi(text, &number) && number >= 1 && number <= 100) {
      *out = static_cast<uint32_t>(std::max<size_t>(1, workers * number / 100));
      return "";
    }
  } else if (absl::SimpleAtoi(text, &number) && number >= 1) {
    *out = number;
    return "";
  }
  return "max_drained must be a number of nodes from 1, or a share such as 10%";
}

std::vector<std::string> GroupNames(const Inventory& inventory) {
  std::vector<std::string> names;
  for (const Group& group : inventory.groups()) names.push_back(group.name);
  return names;
}

size_t WorkersOf(const Inventory& inventory, const Group& group) {
  return static_cast<size_t>(
      std::count_if(group.nodes.begin(), group.nodes.end(), [&](const std::string& name) {
        return inventory.FindNode(name)->role == NodeRole::kCompute;
      }));
}

template <typename T>
void Override(const std::optional<T>& written, T& value) {
  if (written.has_value()) value = *written;
}

}  // namespace

bool HealthPolicyReader::IsMap(const yaml::Document& document, const yaml::Node& node,
                               absl::string_view key) {
  if (node.IsMap() || node.IsNull()) return true;
  errors_.Add(Origin{&document, node.mark()},
              absl::StrCat("'", key, "' must be a map, not ", yaml::KindName(node.kind())));
  return false;
}

std::optional<absl::Duration> HealthPolicyReader::ReadTime(const yaml::Document& document,
                                                           yaml::MapReader& reader,
                                                           absl::string_view key,
                                                           absl::Duration least,
                                                           absl::Duration most) {
  absl::Duration time;
  if (!errors_.Add(reader.Optional(key, &time))) return std::nullopt;
  const yaml::Node* node = reader.Take(key);
  if (node == nullptr) return std::nullopt;
  if (time >= least && time <= most) return time;
  errors_.Add(Origin{&document, node->mark()},
              absl::StrCat(key, " must be from ", absl::FormatDuration(least), " to ",
                           absl::FormatDuration(most)));
  return std::nullopt;
}

void HealthPolicyReader::Read(const yaml::Document& document, const yaml::Entry& entry) {
  Section section;
  section.group = entry.key;
  section.origin = Origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "health policy");
  bool observe_only = false;
  if (errors_.Add(reader.Optional("observe_only", &observe_only)) &&
      entry.value.Find("observe_only") != nullptr)
    section.observe_only = observe_only;
  std::string retest;
  if (errors_.Add(reader.Optional("retest", &retest)) && entry.value.Find("retest") != nullptr &&
      errors_.Check(Origin{&document, entry.value.Find("retest")->mark()},
                    CheckName("suite", retest)))
    section.retest = retest;
  section.good_time =
      ReadTime(document, reader, "good_time", absl::Seconds(10), absl::Hours(24 * 7));
  section.cool_down =
      ReadTime(document, reader, "cool_down", absl::Seconds(10), absl::Hours(24 * 7));
  section.reboot_interval =
      ReadTime(document, reader, "reboot_interval", absl::Minutes(1), absl::Hours(24 * 30));
  struct Part {
    const char* key;
    void (HealthPolicyReader::*read)(const yaml::Document&, const yaml::Node&, Section&);
  };
  constexpr Part kParts[] = {{"conditions", &HealthPolicyReader::ReadConditions},
                             {"breaker", &HealthPolicyReader::ReadBreaker},
                             {"site_conditions", &HealthPolicyReader::ReadSiteConditions},
                             {"disabled", &HealthPolicyReader::ReadDisabled},
                             {"limits", &HealthPolicyReader::ReadLimits},
                             {"xid_actions", &HealthPolicyReader::ReadXidActions}};
  for (const Part& part : kParts) {
    if (const yaml::Node* node = reader.Take(part.key); node != nullptr)
      (this->*part.read)(document, *node, section);
  }
  errors_.Add(reader.Finish());
  const auto [at, is_new] = sections_.try_emplace(section.group, section);
  if (!is_new) {
    errors_.Add(section.origin,
                absl::StrCat("duplicate health policy of ", section.group, ", first in ",
                             at->second.origin.ToPlace().ToString()));
    return;
  }
  policy_->written_[entry.key] = yaml::ToValue(entry.value);
}

void HealthPolicyReader::ReadConditions(const yaml::Document& document, const yaml::Node& node,
                                        Section& section) {
  if (!IsMap(document, node, "conditions")) return;
  for (const yaml::Entry& entry : node.entries()) {
    named_.push_back({entry.key, Origin{&document, entry.key_mark}});
    std::string word;
    v1::HealthAction action = v1::HEALTH_ACTION_UNSPECIFIED;
    if (!errors_.Add(yaml::Read(document, entry.value, &word)) ||
        !errors_.Check(Origin{&document, entry.value.mark()}, ParseHealthAction(word, &action)))
      continue;
    if (entry.key == kNodeLost && action == v1::HEALTH_ACTION_REBOOT_ONCE_THEN_DRAIN) {
      errors_.Add(Origin{&document, entry.value.mark()},
                  "node_lost cannot be rebooted for: it is the agent that reboots a node, and it "
                  "does not answer; use drain or quarantine");
      continue;
    }
    section.conditions[entry.key] = action;
  }
}

void HealthPolicyReader::ReadBreaker(const yaml::Document& document, const yaml::Node& node,
                                     Section& section) {
  yaml::MapReader reader(document, node, "breaker");
  std::string most;
  if (errors_.Add(reader.Required("max_drained", &most)))
    section.max_drained = Reference{most, Origin{&document, node.Find("max_drained")->mark()}};
  section.window = ReadTime(document, reader, "window", absl::Minutes(1), absl::Hours(24))
                       .value_or(section.window);
  if (node.IsMap()) errors_.Add(reader.Finish());
}

void HealthPolicyReader::ReadSiteConditions(const yaml::Document& document, const yaml::Node& node,
                                            Section& section) {
  if (!IsMap(document, node, "site_conditions")) return;
  for (const yaml::Entry& entry : node.entries()) ReadSiteCondition(document, entry, section);
}

void HealthPolicyReader::ReadSiteCondition(const yaml::Document& document, const yaml::Entry& entry,
                                           Section& section) {
  const Origin origin{&document, entry.key_mark};
  yaml::MapReader reader(document, entry.value, "condition");
  v1::SiteCondition condition;
  condition.set_name(entry.key);
  std::vector<std::string> argv;
  if (errors_.Add(reader.Required("argv", &argv))) {
    size_t bytes = 0;
    for (const std::string& argument : argv) bytes += argument.size();
    const Origin place{&document, entry.value.Find("argv")->mark()};
    if (argv.empty() || !absl::StartsWith(argv[0], "/")) {
      errors_.Add(place,
                  "argv must begin with the path of a program, such as /usr/local/bin/check");
    } else if (argv.size() > kMaxArguments || bytes > kMaxArgumentBytes) {
      errors_.Add(place, absl::StrCat("argv: at most ", kMaxArguments, " arguments of ",
                                      kMaxArgumentBytes, " bytes"));
    }
    condition.mutable_argv()->Assign(argv.begin(), argv.end());
  }
  const absl::Duration interval =
      ReadTime(document, reader, "interval", absl::Seconds(10), absl::Hours(24))
          .value_or(kDefaultInterval);
  const absl::Duration time_limit =
      ReadTime(document, reader, "time_limit", absl::Seconds(1), absl::Minutes(5))
          .value_or(std::min(kDefaultTimeLimit, interval));
  if (time_limit > interval) {
    errors_.Add(Origin{&document, entry.value.Find("time_limit")->mark()},
                "time_limit must not be longer than the interval");
  }
  *condition.mutable_interval() = ToProtoDuration(interval);
  *condition.mutable_time_limit() = ToProtoDuration(time_limit);
  v1::ConditionSeverity severity = v1::CONDITION_SEVERITY_WARNING;
  std::string word;
  if (errors_.Add(reader.Optional("severity", &word)) && entry.value.Find("severity") != nullptr) {
    errors_.Check(Origin{&document, entry.value.Find("severity")->mark()},
                  ParseWord(kSeverities, "severity", word, &severity));
  }
  condition.set_severity(severity);
  if (entry.value.IsMap()) errors_.Add(reader.Finish());
  if (!errors_.Check(origin, CheckConditionName(entry.key))) return;
  if (muster::health::FindCondition(entry.key) != nullptr || entry.key == kNodeLost ||
      entry.key == kNodeRebooted) {
    errors_.Add(origin, absl::StrCat("'", entry.key, "' is a condition of the catalogue; choose ",
                                     "another name (docs/health.md)"));
    return;
  }
  if (section.settings.conditions_size() == kMaxSiteConditions) {
    errors_.Add(origin, absl::StrCat("more than ", kMaxSiteConditions, " conditions of a site"));
    return;
  }
  policy_->own_.emplace(entry.key, origin.ToPlace().ToString());
  *section.settings.add_conditions() = std::move(condition);
}

void HealthPolicyReader::ReadDisabled(const yaml::Document& document, const yaml::Node& node,
                                      Section& section) {
  std::vector<std::string> names;
  if (!errors_.Add(yaml::Read(document, node, &names))) return;
  for (size_t i = 0; i < names.size(); ++i) {
    const yaml::Node& place = node.IsSequence() ? node.items()[i] : node;
    named_.push_back({names[i], Origin{&document, place.mark()}});
    section.settings.add_disabled(names[i]);
  }
}

void HealthPolicyReader::ReadLimits(const yaml::Document& document, const yaml::Node& node,
                                    Section& section) {
  if (!IsMap(document, node, "limits")) return;
  std::vector<std::string> known;
  for (const muster::health::LimitInfo& limit : muster::health::LimitTable())
    known.emplace_back(limit.name);
  for (const yaml::Entry& entry : node.entries()) {
    std::string text;
    if (!errors_.Add(yaml::Read(document, entry.value, &text))) continue;
    if (std::find(known.begin(), known.end(), entry.key) == known.end()) {
      errors_.Add(Origin{&document, entry.key_mark},
                  absl::StrCat("unknown limit '", entry.key, "'", DidYouMean(entry.key, known)));
      continue;
    }
    if (errors_.Check(Origin{&document, entry.value.mark()},
                      muster::health::ParseLimit(entry.key, text).status().message()))
      (*section.settings.mutable_limits())[entry.key] = text;
  }
}

void HealthPolicyReader::ReadXidActions(const yaml::Document& document, const yaml::Node& node,
                                        Section& section) {
  if (!IsMap(document, node, "xid_actions")) return;
  for (const yaml::Entry& entry : node.entries()) {
    int xid = 0;
    std::string word;
    if (!absl::SimpleAtoi(entry.key, &xid) || xid < 1 || xid > kMaxXid) {
      errors_.Add(Origin{&document, entry.key_mark},
                  absl::StrCat("'", entry.key, "' is not the number of an Xid, such as 79"));
      continue;
    }
    if (!errors_.Add(yaml::Read(document, entry.value, &word))) continue;
    if (!muster::health::XidActionOf(word).has_value()) {
      errors_.Add(
          Origin{&document, entry.value.mark()},
          absl::StrCat("unknown action '", word, "' of an Xid (known: ignore, restart_app, ",
                       "watch, reset_gpu, reboot, check_power, support)"));
      continue;
    }
    (*section.settings.mutable_xid_actions())[static_cast<uint32_t>(xid)] = word;
  }
}

std::shared_ptr<const HealthPolicy> HealthPolicyReader::Resolve(const Inventory& inventory) {
  for (const Reference& name : named_) {
    if (policy_->Knows(name.text)) continue;
    errors_.Add(name.origin,
                absl::StrCat("unknown condition '", name.text, "'", policy_->DidYouMean(name.text),
                             "; docs/health.md ", "lists them, site_conditions defines your own"));
  }
  for (const auto& [name, section] : sections_) {
    if (inventory.FindGroup(name) != nullptr) continue;
    errors_.Add(section.origin,
                absl::StrCat("unknown group '", name, "'", DidYouMean(name, GroupNames(inventory)),
                             "; 'all' is every node"));
  }
  ResolveBreakers(inventory);
  std::map<std::string, std::shared_ptr<const HealthRules>> merged;  // most nodes share theirs
  for (const Node& node : inventory.nodes()) {
    std::vector<const Section*> sections;
    std::string key;
    for (const std::string& group : node.groups) {
      const auto section = sections_.find(group);
      if (section == sections_.end()) continue;
      sections.push_back(&section->second);
      absl::StrAppend(&key, group, ",");
    }
    std::shared_ptr<const HealthRules>& rules = merged[key];
    if (rules == nullptr) rules = Merge(sections);
    policy_->rules_[node.name] = rules;
  }
  return policy_;
}

void HealthPolicyReader::ResolveBreakers(const Inventory& inventory) {
  const Group& all = *inventory.FindGroup(kEveryNode);
  policy_->breakers_.push_back({kEveryNode, DefaultMaxDrained(WorkersOf(inventory, all)), {}});
  policy_->breakers_[0].window = absl::Minutes(10);
  for (const auto& [name, section] : sections_) {
    const Group* group = inventory.FindGroup(name);
    if (!section.max_drained.has_value() || group == nullptr) continue;
    DrainLimit limit{name, 1, section.window};
    if (!errors_.Check(section.max_drained->origin,
                       ParseMaxDrained(section.max_drained->text, WorkersOf(inventory, *group),
                                       &limit.max_drained)))
      continue;
    if (name == kEveryNode) {
      policy_->breakers_[0] = std::move(limit);
    } else {
      policy_->breakers_.push_back(std::move(limit));
    }
  }
}

std::shared_ptr<const HealthRules> HealthPolicyReader::Merge(
    const std::vector<const Section*>& sections) const {
  auto rules = std::make_shared<HealthRules>();
  rules->breakers.push_back(0);
  std::map<std::string, v1::SiteCondition> own;
  std::vector<std::string> disabled;
  for (const Section* section : sections) {
    for (const auto& [condition, action] : section->conditions)
      rules->conditions[condition] = action;
    Override(section->observe_only, rules->observe_only);
    Override(section->retest, rules->retest);
    Override(section->good_time, rules->good_time);
    Override(section->cool_down, rules->cool_down);
    Override(section->reboot_interval, rules->reboot_interval);
    for (size_t i = 1; i < policy_->breakers_.size(); ++i) {
      if (policy_->breakers_[i].group == section->group) rules->breakers.push_back(i);
    }
    for (const v1::SiteCondition& condition : section->settings.conditions())
      own[condition.name()] = condition;
    disabled.insert(disabled.end(), section->settings.disabled().begin(),
                    section->settings.disabled().end());
    for (const auto& [name, text] : section->settings.limits())
      (*rules->settings.mutable_limits())[name] = text;
    for (const auto& [xid, word] : section->settings.xid_actions())
      (*rules->settings.mutable_xid_actions())[xid] = word;
  }
  for (const auto& [name, condition] : own) *rules->settings.add_conditions() = condition;
  std::sort(disabled.begin(), disabled.end());
  disabled.erase(std::unique(disabled.begin(), disabled.end()), disabled.end());
  rules->settings.mutable_disabled()->Assign(disabled.begin(), disabled.end());
  return rules;
}

}  // namespace muster::controller
