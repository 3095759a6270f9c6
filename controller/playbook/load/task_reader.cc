#include "controller/playbook/load/task_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/text/nearest_word.h"
#include "common/yaml/map_reader.h"
#include "controller/playbook/load/param_reader.h"
#include "controller/playbook/words.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller::playbook {
namespace {

constexpr size_t kMaxIncludes = 1000;
constexpr size_t kMaxIncludeDepth = 8;
constexpr size_t kMaxTasks = 10000;  // of a role

struct ForeignTag {
  absl::string_view word;
  const char* remedy;
};

constexpr ForeignTag kForeignTags[] = {
    {"always", "--tags leaves out all that lacks its tags; list the tags it is needed with"},
    {"never", "use 'when' with a variable that is false unless -e sets it"},
};

std::vector<std::string> ResourceKeys() {
  std::vector<std::string> keys;
  for (const ResourceType& type : ResourceTypes()) keys.emplace_back(type.key);
  return keys;
}

std::vector<std::string> TaskKeys() {
  std::vector<std::string> keys = {"name", "when", "notify", "tags", "loop", "include", "assert"};
  for (std::string& key : ResourceKeys()) keys.push_back(std::move(key));
  return keys;
}

std::vector<std::string> HandlerNames(const Role& role) {
  std::vector<std::string> names;
  for (const Task& handler : role.handlers) names.push_back(handler.name_text);
  return names;
}

}  // namespace

bool ReadWords(const yaml::Document& document, const yaml::Node& node, absl::string_view what,
               std::vector<std::string>* out, ErrorList* errors) {
  if (!errors->Add(yaml::Read(document, node, out))) return false;
  for (const std::string& word : *out) {
    if (!word.empty() && !tmpl::HasTemplateSyntax(word)) continue;
    return errors->Add(
        document.Error(node, absl::StrCat("'", what, "' must be plain words, not ",
                                          word.empty() ? "empty text" : "templates")));
  }
  return true;
}

bool ReadTags(const yaml::Document& document, const yaml::Node& node, std::set<std::string>* out,
              ErrorList* errors) {
  std::vector<std::string> words;
  if (!ReadWords(document, node, "tags", &words, errors)) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto* foreign = std::find_if(std::begin(kForeignTags), std::end(kForeignTags),
                                       [&](const ForeignTag& row) { return row.word == words[i]; });
    if (foreign == std::end(kForeignTags)) continue;
    return errors->Add(document.Error(
        node.IsSequence() ? node.items()[i] : node,
        absl::StrCat("the tag '", foreign->word, "' has no meaning here: ", foreign->remedy)));
  }
  out->insert(words.begin(), words.end());
  return true;
}

TaskReader::TaskReader(const FileTree& site, std::string folder, std::string base, Role* role,
                       ErrorList* errors)
    : site_(site),
      folder_(std::move(folder)),
      base_(std::move(base)),
      role_(role),
      errors_(errors) {}

bool TaskReader::IsList(const yaml::Document& document, const yaml::Node& list,
                        absl::string_view what) {
  if (list.IsSequence() || list.IsNull()) return true;
  return errors_->Add(document.Error(
      list, absl::StrCat("expected a list of ", what, ", each beginning with '- name:', not ",
                         yaml::KindName(list.kind()))));
}

void TaskReader::ReadHandlers(const yaml::Document& document, const yaml::Node& list) {
  if (!IsList(document, list, "handlers")) return;
  for (const yaml::Node& node : list.items()) {
    if (node.Find("include") != nullptr) {
      errors_->Add(document.Error(node, "handlers cannot include files"));
      continue;
    }
    const size_t before = role_->handlers.size();
    ReadTask(document, node, {}, /*handler=*/true, &role_->handlers);
    for (size_t i = 0; i < before && role_->handlers.size() > before; ++i) {
      if (role_->handlers[i].name_text != role_->handlers[before].name_text) continue;
      errors_->Add(document.Error(
          node, absl::StrCat("a second handler '", role_->handlers[i].name_text, "'")));
      break;
    }
  }
}

void TaskReader::ReadTasks(const yaml::Document& document, const yaml::Node& list) {
  including_.push_back(document.file_name());
  ReadList(document, list, {});
  including_.pop_back();
}

void TaskReader::ReadList(const yaml::Document& document, const yaml::Node& list,
                          const Inherited& inherited) {
  if (!IsList(document, list, "tasks")) return;
  for (const yaml::Node& node : list.items()) {
    if (node.Find("include") != nullptr) {
      ReadInclude(document, node, inherited);
    } else {
      ReadTask(document, node, inherited, /*handler=*/false, &role_->tasks);
    }
    if (role_->tasks.size() > kMaxTasks) {
      errors_->Add(document.Error(node, absl::StrCat("more than ", kMaxTasks, " tasks in a role")));
      return;
    }
  }
}

void TaskReader::ReadInclude(const yaml::Document& document, const yaml::Node& node,
                             const Inherited& inherited) {
  if (!CheckKeys(document, node, "an include", {"include", "name", "when", "tags"}, errors_)) {
    return;
  }
  const yaml::Node& file = *node.Find("include");
  if (!file.IsScalar() || file.text().empty() || tmpl::HasTemplateSyntax(file.text())) {
    errors_->Add(document.Error(
        file,
        "'include' takes the plain name of a file beside this one: use 'when' to choose a file"));
    return;
  }
  Inherited passed = inherited;
  if (const yaml::Node* when = node.Find("when")) {
    if (!errors_->Add(ReadConditions(document, *when, &passed.when))) return;
  }
  if (const yaml::Node* tags = node.Find("tags")) {
    if (!ReadTags(document, *tags, &passed.tags, errors_)) return;
  }
  const std::string path = absl::StrCat(folder_, "tasks/", file.text());
  if (std::find(including_.begin(), including_.end(), path) != including_.end()) {
    errors_->Add(document.Error(file, absl::StrCat("the file includes itself: ",
                                                   absl::StrJoin(including_, " → "), " → ", path)));
    return;
  }
  if (including_.size() > kMaxIncludeDepth || ++includes_ > kMaxIncludes) {
    errors_->Add(document.Error(file, absl::StrCat("too many includes: at most ", kMaxIncludes,
                                                   ", ", kMaxIncludeDepth, " deep")));
    return;
  }
  if (site_.find(path) == site_.end()) {
    errors_->Add(document.Error(file, NoFile(site_, path)));
    return;
  }
  const absl::StatusOr<yaml::Document> included = ReadYaml(site_, path);
  if (!errors_->Add(included.status())) return;
  including_.push_back(path);
  ReadList(*included, included->root(), passed);
  including_.pop_back();
}

void TaskReader::ReadTask(const yaml::Document& document, const yaml::Node& node,
                          const Inherited& inherited, bool handler, std::vector<Task>* out) {
  const absl::string_view what = handler ? "a handler" : "a task";
  if (!node.IsMap()) {
    errors_->Add(
        document.Error(node, absl::StrCat(what, " must be a map with a name and a resource, not ",
                                          yaml::KindName(node.kind()))));
    return;
  }
  Task task;
  task.document = document;
  task.node = node;
  task.source = absl::StrCat(absl::StripPrefix(document.file_name(), base_), ":", node.mark().line);
  task.when = inherited.when;
  task.tags = inherited.tags;
  const bool keys_known = CheckKeys(document, node, what, TaskKeys(), errors_);
  ReadGeneralKeys(&task, handler);

  if (const yaml::Node* assertion = node.Find("assert")) {
    ReadAssertion(*assertion, handler, &task);
    out->push_back(std::move(task));
    return;
  }
  const yaml::Entry* resource = nullptr;
  for (const yaml::Entry& entry : node.entries()) {
    const ResourceType* type = FindResourceType(entry.key);
    if (type == nullptr) continue;
    if (resource != nullptr) {
      errors_->Add(document.Error(entry.key_mark,
                                  absl::StrCat("a second resource in one task: it already has '",
                                               resource->key, "'; write two tasks")));
      return;
    }
    resource = &entry;
    task.type = type;
  }
  if (resource == nullptr) {
    if (keys_known) {
      errors_->Add(document.Error(node, absl::StrCat(what, " needs a resource, one of ",
                                                     absl::StrJoin(ResourceKeys(), ", "))));
    }
    return;
  }
  ReadResource(*resource, handler, &task);
  out->push_back(std::move(task));
}

void TaskReader::ReadGeneralKeys(Task* task, bool handler) {
  const yaml::Document& document = task->document;
  const yaml::Node& node = task->node;
  const yaml::Node* name = node.Find("name");
  if (name == nullptr || !name->IsScalar() || name->text().empty()) {
    errors_->Add(document.Error(
        name == nullptr ? node : *name,
        absl::StrCat("a ", handler ? "handler" : "task", " needs a name, for reports")));
  } else {
    task->name_text = name->text();
    absl::StatusOr<ValueTemplate> parsed = ValueTemplate::FromYaml(document, *name, Scalars::kText);
    if (errors_->Add(parsed.status())) task->name = *std::move(parsed);
    if (handler && tmpl::HasTemplateSyntax(name->text())) {
      errors_->Add(document.Error(*name,
                                  "a handler's name cannot be a template: tasks notify it "
                                  "by its name"));
    }
  }
  if (const yaml::Node* when = node.Find("when")) {
    errors_->Add(ReadConditions(document, *when, &task->when));
  }
  for (const char* key : {"tags", "loop", "notify"}) {
    if (handler && node.Find(key) != nullptr) {
      errors_->Add(document.Error(node.FindEntry(key)->key_mark,
                                  absl::StrCat("a handler has no '", key, "'")));
    }
  }
  if (handler) return;
  if (const yaml::Node* tags = node.Find("tags")) {
    ReadTags(document, *tags, &task->tags, errors_);
  }
  if (const yaml::Node* loop = node.Find("loop")) ReadLoop(*loop, task);
  if (const yaml::Node* notify = node.Find("notify")) ReadNotify(*notify, task);
}

void TaskReader::ReadLoop(const yaml::Node& node, Task* task) {
  const yaml::Document& document = task->document;
  if (node.IsSequence() || (node.IsScalar() && tmpl::HasTemplateSyntax(node.text()))) {
    absl::StatusOr<ValueTemplate> parsed = ValueTemplate::FromYaml(document, node, Scalars::kTyped);
    if (errors_->Add(parsed.status())) task->loop = *std::move(parsed);
  } else if (node.IsScalar() && !node.text().empty()) {
    absl::StatusOr<tmpl::Template> parsed =
        tmpl::Template::ParseExpression(node.text(), PositionOfText(document, node));
    if (errors_->Add(parsed.status())) task->loop = ValueTemplate::FromTemplate(*std::move(parsed));
  } else {
    errors_->Add(
        document.Error(node, "'loop' takes a list, or an expression that evaluates to a list"));
  }
}

void TaskReader::ReadNotify(const yaml::Node& node, Task* task) {
  if (!ReadWords(task->document, node, "notify", &task->notify, errors_)) return;
  const std::vector<std::string> known = HandlerNames(*role_);
  for (const std::string& name : task->notify) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string hint = DidYouMean(name, known);
    if (hint.empty() && known.empty()) hint = absl::StrCat(": role ", role_->name, " has none");
    if (hint.empty()) hint = absl::StrCat(" (known: ", absl::StrJoin(known, ", "), ")");
    errors_->Add(task->document.Error(node, absl::StrCat("unknown handler '", name, "'", hint)));
  }
}

void TaskReader::ReadAssertion(const yaml::Node& node, bool handler, Task* task) {
  const yaml::Document& document = task->document;
  if (handler) {
    errors_->Add(document.Error(node, "a handler cannot 'assert': write a task"));
    return;
  }
  for (const yaml::Entry& entry : task->node.entries()) {
    if (entry.key != "loop" && entry.key != "notify" && FindResourceType(entry.key) == nullptr) {
      continue;
    }
    errors_->Add(document.Error(entry.key_mark,
                                absl::StrCat("'assert' and '", entry.key,
                                             "' in one task: 'assert' changes nothing, and is "
                                             "evaluated once")));
    return;
  }
  if (!CheckKeys(document, node, "'assert'", {"that", "message"}, errors_)) return;
  Assertion assertion;
  for (const char* key : {"that", "message"}) {
    if (node.Find(key) != nullptr) continue;
    errors_->Add(document.Error(node, absl::StrCat("'assert' lacks '", key, "'")));
    return;
  }
  if (!errors_->Add(ReadConditions(document, *node.Find("that"), &assertion.that, "that"))) return;
  absl::StatusOr<ValueTemplate> message =
      ValueTemplate::FromYaml(document, *node.Find("message"), Scalars::kText);
  if (!errors_->Add(message.status())) return;
  assertion.message = *std::move(message);
  task->assertion = std::move(assertion);
}

void TaskReader::ReadResource(const yaml::Entry& entry, bool handler, Task* task) {
  const yaml::Document& document = task->document;
  const ResourceType& type = *task->type;
  if (!entry.value.IsMap()) {
    errors_->Add(
        document.Error(entry.value, absl::StrCat("'", type.key, "' takes a map of parameters: ",
                                                 absl::StrJoin(KeysOf(type.params), ", "))));
    return;
  }
  auto prototype = std::make_shared<v1::Step>();
  ParamReader(document, site_, folder_, *role_, handler, errors_)
      .Read(entry.value, entry.key_mark, absl::StrCat("'", type.key, "'"), type.params, type.check,
            MutableResource(type, prototype.get()), &task->params);
  const auto lacks = [&entry](const char* key) { return entry.value.Find(key) == nullptr; };
  if (handler && prototype->has_command() && lacks("creates") && lacks("unless") &&
      lacks("changes")) {
    prototype->mutable_command()->set_always(true);
  }
  task->prototype = std::move(prototype);
}

}  // namespace muster::controller::playbook
