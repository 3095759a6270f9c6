// CompilePlay, and the other questions that a run asks about a playbook.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "common/base/text/nearest_word.h"
#include "controller/inventory/inventory.h"
#include "controller/playbook/compile/left_out_roles.h"
#include "controller/playbook/compile/node_stack.h"
#include "controller/playbook/compile/owners.h"
#include "controller/playbook/compile/plan_builder.h"
#include "controller/playbook/compile/scopes.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/model.h"
#include "controller/stack/stack_set.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller {
namespace {

using playbook::ChosenRole;
using playbook::Play;
using playbook::RoleUse;
using playbook::SuitePlay;
using playbook::Task;

bool AnyOf(const std::set<std::string>& tags, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const std::string& tag) { return tags.count(tag) > 0; });
}

// The roles of which the tags leave something.
// Stacks are for roles: tasks of a play's own may come without any, as those of `muster node
// reboot` do. A template that reads `stack` then finds it undefined.
bool UsesStacks(const playbook::Play& play, const stack::StackSet& stacks) {
  return !stacks.stacks().empty() ||
         std::any_of(play.roles.begin(), play.roles.end(),
                     [](const RoleUse& use) { return use.role->name != playbook::kInlineRole; });
}

std::vector<ChosenRole> Choose(const Play& play, const std::vector<std::string>& tags) {
  std::vector<ChosenRole> chosen;
  playbook::LeftOutRoles left_out;
  for (const RoleUse& use : play.roles) {
    const bool all = tags.empty() || AnyOf(play.tags, tags) || AnyOf(use.tags, tags);
    ChosenRole role;
    role.use = &use;
    for (const Task& task : use.role->tasks) {
      if (all || AnyOf(task.tags, tags)) role.tasks.push_back(&task);
    }
    if (all || !role.tasks.empty()) {
      chosen.push_back(std::move(role));
    } else {
      left_out.Add(use.role->name, use.needs);
    }
  }
  for (ChosenRole& role : chosen) role.needs = left_out.Bridge(role.use->needs);
  return chosen;
}

// The nodes of a Play or a SuitePlay.
template <typename AnyPlay>
absl::StatusOr<std::vector<std::string>> SelectHosts(const AnyPlay& play,
                                                     const Inventory& inventory,
                                                     absl::string_view limit) {
  const absl::StatusOr<std::vector<const Node*>> hosts = Select(inventory, play.hosts);
  if (!hosts.ok()) return play.document.Error(play.hosts_node, hosts.status().message());
  std::set<const Node*> allowed(hosts->begin(), hosts->end());
  if (!limit.empty()) {
    const absl::StatusOr<std::vector<const Node*>> limited = Select(inventory, limit);
    if (!limited.ok()) return Annotate(limited.status(), "--limit");
    std::set<const Node*> both;
    for (const Node* node : *limited) {
      if (allowed.count(node) > 0) both.insert(node);
    }
    allowed = std::move(both);
  }
  std::vector<std::string> names;
  for (const Node* node : *hosts) {
    if (allowed.count(node) > 0) names.push_back(node->name);
  }
  return names;
}

}  // namespace

absl::Status CheckTags(const Playbook& playbook, const std::vector<std::string>& tags) {
  std::set<std::string> known;
  for (const Play& play : playbook.plays) {
    known.insert(play.tags.begin(), play.tags.end());
    for (const RoleUse& use : play.roles) {
      known.insert(use.tags.begin(), use.tags.end());
      for (const Task& task : use.role->tasks) known.insert(task.tags.begin(), task.tags.end());
    }
  }
  for (const SuitePlay& play : playbook.suite_plays) {
    known.insert(play.tags.begin(), play.tags.end());
  }
  const std::vector<std::string> words(known.begin(), known.end());
  for (const std::string& tag : tags) {
    if (known.count(tag) > 0) continue;
    std::string hint = DidYouMean(tag, words);
    if (hint.empty()) {
      hint = words.empty() ? ": the playbook has no tags"
                           : absl::StrCat(" (known: ", absl::StrJoin(words, ", "), ")");
    }
    return absl::InvalidArgumentError(absl::StrCat("unknown tag '", tag, "'", hint));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> SelectPlayNodes(const Playbook& playbook,
                                                         size_t play_index,
                                                         const Inventory& inventory,
                                                         absl::string_view limit) {
  return SelectHosts(playbook.plays.at(play_index), inventory, limit);
}

absl::StatusOr<std::vector<PlaybookEnding>> SelectEndings(const Playbook& playbook,
                                                          const Inventory& inventory,
                                                          absl::string_view limit,
                                                          const std::vector<std::string>& tags) {
  std::vector<PlaybookEnding> endings;
  if (playbook.suite_plays.empty()) return endings;
  std::set<std::string> applied;
  for (size_t i = 0; i < playbook.plays.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names,
                     SelectPlayNodes(playbook, i, inventory, limit));
    applied.insert(names.begin(), names.end());
  }
  std::map<std::string, std::string> taken;  // node → play
  for (const SuitePlay& play : playbook.suite_plays) {
    ASSIGN_OR_RETURN(std::vector<std::string> names, SelectHosts(play, inventory, limit));
    std::vector<std::string> strangers;
    for (const std::string& name : names) {
      if (applied.count(name) == 0) strangers.push_back(name);
    }
    if (!strangers.empty()) {
      const std::string nodes = FoldHostlist(std::move(strangers));
      return play.document.Error(play.hosts_node,
                                 absl::StrCat("play '", play.name, "' validates ", nodes,
                                              ", to which no play applies anything: remove them "
                                              "from its hosts and run `muster validate ",
                                              nodes, " --suite ", play.suite, "`"));
    }
    if (names.empty() || (!tags.empty() && !AnyOf(play.tags, tags))) continue;
    for (const std::string& name : names) {
      const auto [first, is_new] = taken.emplace(name, play.name);
      if (is_new) continue;
      return play.document.Error(
          play.hosts_node,
          absl::StrCat(
              "play '", play.name, "' validates ", name, ", as play '", first->second,
              "' already does, and one pass is enough: put both sets of checks into one suite"));
    }
    endings.push_back({play.name, play.suite, std::move(names)});
  }
  return endings;
}

void CompilePlayInBatches(const Playbook& playbook, size_t play_index, const Inventory& inventory,
                          const FactsByNode& facts, const std::vector<std::string>& nodes,
                          const CompileOptions& options, SecretSource& secrets, size_t batch,
                          absl::FunctionRef<bool(std::vector<NodePlan>)> take) {
  const Play& play = playbook.plays.at(play_index);
  playbook::PlayScope shared(inventory, facts, options.extra_vars, options.offer, secrets,
                             playbook.path, nodes.size());
  const std::vector<ChosenRole> roles = Choose(play, options.tags);
  playbook::ContentCache cache;
  RunOwners of_this_play;
  RunOwners& owners = options.owners == nullptr ? of_this_play : *options.owners;
  const auto compile = [&](const std::string& name) {
    NodePlan out;
    out.node = name;
    const Node* node = inventory.FindNode(name);
    if (node == nullptr || !shared.status().ok()) {
      out.error = node == nullptr
                      ? absl::NotFoundError(absl::StrCat("node ", name, " is not in the inventory"))
                      : shared.status();
      return out;
    }
    out.plan = std::make_unique<v1::Plan>();
    out.plan->set_play_index(static_cast<uint32_t>(play_index));
    out.plan->set_play_name(play.name);
    out.plan->set_node_name(name);
    out.plan->set_check_only(options.check_only);
    out.plan->set_want_diff(options.want_diff);
    playbook::NodeScope scope(shared, *node);
    if (UsesStacks(play, *playbook.stacks))
      out.error = playbook::TakeStack(*playbook.stacks, scope);
    if (out.error.ok()) {
      playbook::PlanBuilder builder(scope, cache, options.keep_left_out_roles, &out);
      for (const ChosenRole& role : roles) builder.AddRole(role);
      out.error = builder.Finish();
    }
    if (out.error.ok()) out.error = owners.Take(*out.plan);
    if (!out.error.ok()) {
      out.plan.reset();
      out.blobs.clear();
    }
    return out;
  };
  for (size_t begin = 0; begin < nodes.size(); begin += batch) {
    const size_t end = std::min(nodes.size(), begin + batch);
    std::vector<NodePlan> plans;
    plans.reserve(end - begin);
    for (size_t i = begin; i < end; ++i) plans.push_back(compile(nodes[i]));
    if (!take(std::move(plans))) return;
  }
}

std::vector<NodePlan> CompilePlay(const Playbook& playbook, size_t play_index,
                                  const Inventory& inventory, const FactsByNode& facts,
                                  const std::vector<std::string>& nodes,
                                  const CompileOptions& options, SecretSource& secrets) {
  std::vector<NodePlan> all;
  CompilePlayInBatches(playbook, play_index, inventory, facts, nodes, options, secrets,
                       std::max<size_t>(nodes.size(), 1), [&](std::vector<NodePlan> plans) {
                         all = std::move(plans);
                         return true;
                       });
  return all;
}

}  // namespace muster::controller
