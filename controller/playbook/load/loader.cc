// LoadPlaybook: the list of plays and the roles they name.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/text/joined_errors.h"
#include "common/base/text/nearest_word.h"
#include "common/yaml/map_reader.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/load/role_reader.h"
#include "controller/playbook/load/site_files.h"
#include "controller/playbook/load/task_reader.h"
#include "controller/playbook/model.h"
#include "controller/playbook/words.h"

namespace muster::controller {
namespace playbook {
namespace {

constexpr size_t kMaxPlays = 100;
constexpr size_t kMaxRoles = 200;  // of a play
// Validations look for suites in this folder too, whatever the playbook's own folder.
constexpr char kSuiteFolder[] = "playbooks/suites/";
constexpr char kSuiteExtension[] = ".yaml";

bool NamesSuite(const yaml::Node& play) { return play.IsMap() && play.Find("validate") != nullptr; }

class PlaybookReader {
 public:
  PlaybookReader(const FileTree& site, const yaml::Document& document)
      : site_(site),
        document_(document),
        base_(document.file_name().substr(0, document.file_name().rfind('/') + 1)) {}

  absl::StatusOr<std::shared_ptr<const Playbook>> Read();

 private:
  void ReadPlay(const yaml::Node& node, Play* play);
  void ReadSuitePlay(const yaml::Node& node, SuitePlay* play);
  void CheckSuite(const yaml::Node& node, const std::string& suite);
  std::shared_ptr<const stack::StackSet> ReadStacks();
  template <typename AnyPlay>
  void ReadHosts(const yaml::Node& node, AnyPlay* play);
  void ReadRoleUse(const yaml::Node& node, Play* play);
  void CheckNeeds(const Play& play);
  void CheckCycles(const Play& play);
  std::string Text(const yaml::Node& play, const char* key, absl::string_view what);
  void ReadTags(const yaml::Node& node, std::set<std::string>* tags);
  void Add(const yaml::Node& node, absl::string_view message) {
    errors_.Add(document_.Error(node, message));
  }

  const FileTree& site_;
  const yaml::Document& document_;
  const std::string base_;
  ErrorList errors_;
  std::map<std::string, std::shared_ptr<const Role>> roles_;
};

absl::StatusOr<std::shared_ptr<const Playbook>> PlaybookReader::Read() {
  const yaml::Node& root = document_.root();
  if (!root.IsSequence() || root.items().empty()) {
    return document_.Error(root,
                           "a playbook must be a list of plays: '- play: NAME', 'hosts:', "
                           "'roles:'");
  }
  if (root.items().size() > kMaxPlays) {
    return document_.Error(root, absl::StrCat("more than ", kMaxPlays, " plays"));
  }
  auto playbook = std::make_shared<Playbook>();
  playbook->path = document_.file_name();
  for (const yaml::Node& node : root.items()) {
    if (NamesSuite(node)) {
      ReadSuitePlay(node, &playbook->suite_plays.emplace_back());
      if (playbook->plays.empty()) {
        Add(node,
            "no play before this one applies anything, and only nodes that a play was applied to "
            "are validated; to validate alone, run `muster validate NODES --suite SUITE`");
      }
      continue;
    }
    if (!playbook->suite_plays.empty()) {
      Add(node,
          absl::StrCat(
              "a play with roles or tasks must precede plays with 'validate': move it above play '",
              playbook->suite_plays.front().name, "'"));
    }
    ReadPlay(node, &playbook->plays.emplace_back());
  }
  playbook->stacks = ReadStacks();
  if (absl::Status status = errors_.ToStatus(); !status.ok()) return status;
  return playbook;
}

// A contradiction in any stack ends the load, whether a node has that stack or not.
std::shared_ptr<const stack::StackSet> PlaybookReader::ReadStacks() {
  const auto files = [&](const std::string& folder) {
    FileTree found;
    for (const std::string& name : FilesUnder(site_, folder)) {
      const std::string path = folder + name;
      found.emplace(path, site_.at(path));
    }
    return found;
  };
  absl::StatusOr<stack::StackSet> stacks =
      stack::StackSet::Read(files(stack::kStackFolder), files(stack::kHardwareFolder));
  for (const std::string& error : ErrorsOf(stacks.status()).texts) {
    errors_.Add(absl::InvalidArgumentError(error));
  }
  return std::make_shared<const stack::StackSet>(stacks.ok() ? *std::move(stacks)
                                                             : stack::StackSet());
}

std::string PlaybookReader::Text(const yaml::Node& play, const char* key, absl::string_view what) {
  const yaml::Node* value = play.Find(key);
  if (value == nullptr) {
    Add(play, absl::StrCat("a play needs '", key, "': ", what));
    return "";
  }
  if (!value->IsScalar() || value->text().empty() || tmpl::HasTemplateSyntax(value->text())) {
    Add(*value, absl::StrCat("'", key, "' must be plain text: ", what));
    return "";
  }
  return value->text();
}

void PlaybookReader::ReadTags(const yaml::Node& node, std::set<std::string>* tags) {
  const yaml::Node* value = node.Find("tags");
  if (value != nullptr) playbook::ReadTags(document_, *value, tags, &errors_);
}

template <typename AnyPlay>
void PlaybookReader::ReadHosts(const yaml::Node& node, AnyPlay* play) {
  const yaml::Node* hosts = node.Find("hosts");
  if (hosts != nullptr && hosts->IsSequence()) {
    std::vector<std::string> words;
    ReadWords(document_, *hosts, "hosts", &words, &errors_);
    play->hosts = absl::StrJoin(words, ",");
    if (words.empty()) Add(*hosts, "'hosts' is empty: specify a role, group or nodes");
  } else {
    play->hosts = Text(node, "hosts", "a role, a group, nodes, or several joined by commas");
  }
  if (hosts != nullptr) play->hosts_node = *hosts;
}

void PlaybookReader::ReadSuitePlay(const yaml::Node& node, SuitePlay* play) {
  for (const char* key : {"roles", "tasks", "handlers"}) {
    const yaml::Node* value = node.Find(key);
    if (value == nullptr) continue;
    Add(*value, absl::StrCat("a play has 'validate' or '", key, "', not both: make two plays"));
  }
  CheckKeys(document_, node, "a play with 'validate'",
            {"play", "hosts", "validate", "tags", "roles", "tasks", "handlers"}, &errors_);
  play->document = document_;
  play->name = Text(node, "play", "its name");
  ReadHosts(node, play);
  ReadTags(node, &play->tags);
  play->suite = Text(node, "validate", "a suite of playbooks/suites, such as acceptance");
  if (!play->suite.empty()) CheckSuite(*node.Find("validate"), play->suite);
}

// The content of the suite is checked by code that knows the checks.
void PlaybookReader::CheckSuite(const yaml::Node& node, const std::string& suite) {
  if (site_.count(absl::StrCat(kSuiteFolder, suite, kSuiteExtension)) > 0) return;
  std::vector<std::string> known;
  for (const std::string& file : FilesUnder(site_, kSuiteFolder)) {
    absl::string_view name = file;
    if (absl::ConsumeSuffix(&name, kSuiteExtension)) known.emplace_back(name);
  }
  std::string hint = DidYouMean(suite, known);
  if (hint.empty() && known.empty() && base_ != "playbooks/") {
    hint = ": the playbook must be in a folder playbooks, beside suites";
  }
  Add(node, absl::StrCat("no suite '", suite, "' in ", kSuiteFolder, hint));
}

void PlaybookReader::ReadPlay(const yaml::Node& node, Play* play) {
  if (!node.IsMap()) {
    Add(node, absl::StrCat("a play must be a map with play, hosts and roles, not ",
                           yaml::KindName(node.kind())));
    return;
  }
  CheckKeys(document_, node, "a play",
            {"play", "hosts", "roles", "tasks", "handlers", "tags", "validate"}, &errors_);
  play->document = document_;
  play->name = Text(node, "play", "its name");
  ReadHosts(node, play);
  ReadTags(node, &play->tags);
  const yaml::Node* roles = node.Find("roles");
  const yaml::Node* tasks = node.Find("tasks");
  const yaml::Node* handlers = node.Find("handlers");
  if (roles == nullptr && tasks == nullptr) {
    Add(node, "a play needs 'roles' or 'tasks', or 'validate': a suite");
  }
  if (handlers != nullptr && tasks == nullptr) {
    Add(*handlers, "the play has handlers but no tasks that could notify them");
  }
  if (roles != nullptr) {
    if (!roles->IsSequence()) Add(*roles, "'roles' must be a list of role names");
    for (const yaml::Node& item : roles->items()) {
      ReadRoleUse(item, play);
      if (play->roles.size() > kMaxRoles) {
        Add(item, absl::StrCat("more than ", kMaxRoles, " roles in a play"));
        return;
      }
    }
  }
  CheckNeeds(*play);
  CheckCycles(*play);
  if (tasks == nullptr) return;
  RoleUse inline_tasks;
  for (const RoleUse& use : play->roles) inline_tasks.needs.push_back(use.role->name);
  inline_tasks.role = ReadInlineRole(site_, base_, document_, *tasks,
                                     handlers == nullptr ? yaml::Node() : *handlers, &errors_);
  inline_tasks.node = *tasks;
  play->roles.push_back(std::move(inline_tasks));
}

void PlaybookReader::ReadRoleUse(const yaml::Node& node, Play* play) {
  RoleUse use;
  use.node = node;
  const yaml::Node* name = &node;
  if (node.IsMap()) {
    CheckKeys(document_, node, "a role of a play", {"role", "when", "needs", "tags"}, &errors_);
    name = node.Find("role");
    if (name == nullptr) return Add(node, "a role of a play needs 'role': its name");
    if (const yaml::Node* when = node.Find("when")) {
      errors_.Add(ReadConditions(document_, *when, &use.when));
    }
    if (const yaml::Node* needs = node.Find("needs")) {
      ReadWords(document_, *needs, "needs", &use.needs, &errors_);
    }
    ReadTags(node, &use.tags);
  }
  if (!name->IsScalar() || name->text().empty()) return Add(*name, "expected the name of a role");
  if (name->text() == kInlineRole) {
    return Add(*name, "'tasks' stands for the tasks of the play: rename the role");
  }
  for (const RoleUse& other : play->roles) {
    if (other.role->name != name->text()) continue;
    return Add(*name, absl::StrCat("role '", name->text(), "' is already in this play"));
  }
  std::shared_ptr<const Role>& role = roles_[name->text()];
  if (role == nullptr) {
    role = ReadRole(site_, base_, name->text(), document_, *name, &errors_);
  }
  use.role = role;
  play->roles.push_back(std::move(use));
}

void PlaybookReader::CheckNeeds(const Play& play) {
  std::vector<std::string> names;
  for (const RoleUse& use : play.roles) names.push_back(use.role->name);
  for (const RoleUse& use : play.roles) {
    for (const std::string& need : use.needs) {
      if (std::find(names.begin(), names.end(), need) != names.end()) continue;
      const yaml::Node* place = use.node.Find("needs");
      std::string hint = DidYouMean(need, names);
      if (hint.empty()) hint = ": add it to the roles, or to an earlier play";
      Add(place == nullptr ? use.node : *place,
          absl::StrCat("role '", use.role->name, "' needs '", need, "', which is not in play '",
                       play.name, "'", hint));
    }
  }
}

void PlaybookReader::CheckCycles(const Play& play) {
  // Repeatedly removes the roles that wait for none of those left.
  std::vector<const RoleUse*> left;
  for (const RoleUse& use : play.roles) left.push_back(&use);
  const auto waits = [&](const RoleUse* use) {
    return std::any_of(left.begin(), left.end(), [&](const RoleUse* other) {
      return std::find(use->needs.begin(), use->needs.end(), other->role->name) != use->needs.end();
    });
  };
  for (size_t before = left.size() + 1; left.size() < before;) {
    before = left.size();
    std::vector<const RoleUse*> waiting;
    for (const RoleUse* use : left) {
      if (waits(use)) waiting.push_back(use);
    }
    left = std::move(waiting);
  }
  if (left.empty()) return;
  // Each one left needs another one left: following them leads back to the start.
  std::vector<std::string> path;
  const RoleUse* at = left.front();
  while (std::find(path.begin(), path.end(), at->role->name) == path.end()) {
    path.push_back(at->role->name);
    at = *std::find_if(left.begin(), left.end(), [&](const RoleUse* other) {
      return std::find(at->needs.begin(), at->needs.end(), other->role->name) != at->needs.end();
    });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at->role->name));
  path.push_back(at->role->name);
  Add(at->node, absl::StrCat("roles need each other: ", absl::StrJoin(path, " → ")));
}

}  // namespace
}  // namespace playbook

absl::StatusOr<std::shared_ptr<const Playbook>> LoadPlaybook(const FileTree& site,
                                                             absl::string_view path) {
  absl::StatusOr<yaml::Document> document = playbook::ReadYaml(site, std::string(path));
  if (!document.ok()) return document.status();
  return playbook::PlaybookReader(site, *document).Read();
}

std::vector<std::string> PlayNames(const Playbook& playbook) {
  std::vector<std::string> names;
  for (const playbook::Play& play : playbook.plays) names.push_back(play.name);
  return names;
}

}  // namespace muster::controller
