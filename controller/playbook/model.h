// A playbook as it was read: checked, templates parsed, nothing node-specific decided yet.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/yaml/document.h"
#include "controller/playbook/load/value_template.h"
#include "controller/playbook/schema/schema.h"
#include "controller/stack/stack_set.h"
#include "controller/template/template.h"

namespace muster::v1 {
class Step;
}

namespace muster::controller::playbook {

// The content of a file, with its digest; shared by all nodes that get the same.
struct Content {
  std::shared_ptr<const std::string> text;
  std::string sha256;
  bool sensitive = false;
  bool is_shared = false;         // the same on many nodes
  std::set<std::string> secrets;  // names of the secrets that rendering asked for
};

// A parameter whose value depends on the node.
struct NodeParam {
  const Param* param = nullptr;
  ValueTemplate value;
  yaml::Node node;  // where it was written
  // For a list of maps that is written out, and whose entries are in the prototype: the
  // node-specific parameters of each entry. Empty: `value` is the whole list.
  std::vector<std::vector<NodeParam>> elements = {};
};

// `assert`: what must hold for a node before it gets a plan.
struct Assertion {
  std::vector<Condition> that;
  ValueTemplate message;
};

// Has a resource or an assertion.
struct Task {
  yaml::Document document;
  yaml::Node node;
  std::string source;  // "roles/munge/tasks/main.yaml:3"
  std::string name_text;
  ValueTemplate name;
  std::optional<Assertion> assertion;
  const ResourceType* type = nullptr;
  std::shared_ptr<const v1::Step> prototype;  // with the parameters that are the same on every node
  std::vector<NodeParam> params;
  std::vector<Condition> when;
  std::vector<std::string> notify;  // handler names of the same role
  std::set<std::string> tags;
  std::optional<ValueTemplate> loop;
};

// A variable in defaults/main.yaml.
struct Default {
  ValueTemplate value;
  std::string place;    // "file:line"
  std::string written;  // with its templates, as JSON
};

// A role's folder; shared by the plays that use the role.
struct Role {
  std::string name;
  std::map<std::string, Default, std::less<>> defaults;
  std::vector<Task> tasks;
  std::vector<Task> handlers;
  std::map<std::string, tmpl::Template, std::less<>> templates;  // by path in templates/
  std::map<std::string, std::shared_ptr<const Content>, std::less<>> files;
};

// A role in the list of a play.
struct RoleUse {
  std::shared_ptr<const Role> role;
  std::vector<Condition> when;
  std::vector<std::string> needs;
  std::set<std::string> tags;
  yaml::Node node;
};

struct Play {
  std::string name;
  std::string hosts;
  yaml::Document document;
  yaml::Node hosts_node;
  std::set<std::string> tags;
  std::vector<RoleUse> roles;
};

// A play that names a suite of checks instead of roles.
struct SuitePlay {
  std::string name;
  std::string suite;
  std::string hosts;
  yaml::Document document;
  yaml::Node hosts_node;
  std::set<std::string> tags;
};

// The role that a play's own `tasks:` make up.
inline constexpr char kInlineRole[] = "tasks";

inline std::string HandlerId(const Role& role, const std::string& handler) {
  return role.name + "/handler/" + handler;
}

}  // namespace muster::controller::playbook

namespace muster::controller {

struct Playbook {
  std::string path;  // in the bundle
  std::vector<playbook::Play> plays;
  std::vector<playbook::SuitePlay> suite_plays;   // run after all plays
  std::shared_ptr<const stack::StackSet> stacks;  // never nullptr
};

}  // namespace muster::controller
