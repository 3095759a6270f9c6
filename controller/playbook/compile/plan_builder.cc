#include "controller/playbook/compile/plan_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"
#include "common/base/text/nearest_word.h"
#include "common/value/image_manifest.h"
#include "controller/playbook/schema/given.h"
#include "muster/v1/plan.pb.h"

namespace muster::controller::playbook {
namespace {

constexpr size_t kMaxSteps = 10000;  // of a plan
// Larger contents travel as blobs, so that a plan stays small.
constexpr size_t kMaxInline = 64 << 10;
// Those above kAlwaysInline do so too when many nodes share them, or when a plan already holds this
// much.
constexpr size_t kMuchInline = 1 << 20;
// Secrets never become blobs, which lie in the blob store.
constexpr size_t kMaxSecretContent = 1 << 20;
// Standard input of a command travels in the plan.
constexpr size_t kMaxInput = 1 << 20;

// Ends the error of a rule that holds for the parameters as written, and not for their values.
constexpr char kOnNode[] = "; a parameter that is none on the node counts as not given";

// Whether they say what a file holds, in one of several ways.
bool HasContents(const std::vector<Param>& params) {
  return std::any_of(params.begin(), params.end(),
                     [](const Param& param) { return param.type == ParamType::kTemplateFile; });
}

bool ReadsItem(const Condition& condition) { return MayRead(condition.expression, "item"); }

// The label that identifies an item of a loop in the names of its steps.
std::string Label(const Value& item, size_t index) {
  const Value* shown = &item;
  if (item.is_object()) {
    const auto name = item.find("name");
    if (name != item.end()) shown = &*name;
  }
  if (shown->is_string()) return shown->get<std::string>();
  if (shown->is_number_integer()) return absl::StrCat(shown->get<int64_t>());
  return absl::StrCat(index + 1);
}

std::string SkipReason(const std::string& condition) {
  return absl::StrCat("when: ", condition, " is false");
}

template <typename T>
std::vector<std::string> KeysOf(const std::map<std::string, T, std::less<>>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// A build that is the same for all nodes of a rollout, and in each plan of it.
absl::Status CheckBuildName(const std::string& image) {
  ASSIGN_OR_RETURN(const ImageReference reference, ParseImageReference(image));
  if (!reference.digest.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("image '", image,
                   "' has no digest, so that nodes of one run could get two "
                   "builds: write ",
                   image, "@DIGEST, as `muster image list` shows it"));
}

// What else is done in the plan would stay in the root that the node leaves.
absl::Status CheckImageStep(const v1::Plan& plan) {
  const v1::Step* image = nullptr;
  const v1::Step* other = nullptr;
  for (const v1::RolePlan& role : plan.roles()) {
    for (const v1::Step& step : role.steps()) {
      if (!step.skip_reason().empty()) continue;
      if (image == nullptr && !step.reboot().image().empty()) {
        image = &step;
      } else {
        other = &step;
      }
    }
  }
  if (image == nullptr || other == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      image->source(), ": a reboot into an image needs a play of its own: '", other->step_id(),
      "' (", other->source(), ") is in the same play and would stay in the root that is left"));
}

}  // namespace

PlanBuilder::PlanBuilder(NodeScope& node, ContentCache& cache, bool keep_left_out_roles,
                         NodePlan* out)
    : node_(node), cache_(cache), keep_left_out_roles_(keep_left_out_roles), out_(out) {}

bool PlanBuilder::Add(const absl::Status& status) {
  if (status.ok()) return true;
  if (!node_.has_facts() && absl::StrContains(status.message(), "'facts'")) {
    return errors_.Add(
        absl::Status(status.code(), absl::StrCat(status.message(), "\n  no facts of ", node_.name(),
                                                 " yet: its agent has not reported any")));
  }
  return errors_.Add(status);
}

std::string PlanBuilder::UniqueId(const std::string& id) {
  std::string unique = id;
  while (!ids_.emplace(unique, 1).second) unique = absl::StrCat(id, "#", ++ids_[id]);
  return unique;
}

void PlanBuilder::AddRole(const ChosenRole& chosen) {
  role_ = chosen.use->role.get();
  node_.play().ReadAs(role_->name);
  RoleScope scope(node_, *role_);
  const absl::StatusOr<std::string> no = FirstFalse(chosen.use->when, scope.scope());
  if (!Add(no.status())) return;
  if (!no->empty() && !keep_left_out_roles_) {
    left_out_.Add(role_->name, chosen.needs);
    return;
  }
  v1::RolePlan* plan = out_->plan->add_roles();
  plan->set_name(role_->name);
  for (const std::string& need : chosen.needs) plan->add_needs(need);
  if (!no->empty()) {
    for (const Task* task : chosen.tasks) {
      if (!task->assertion.has_value()) AddSkipped(*task, SkipReason(*no), plan);
    }
    return;
  }
  for (const Task& handler : role_->handlers) {
    ids_.emplace(HandlerId(*role_, handler.name_text), 1);
  }
  for (const Task* task : chosen.tasks) {
    if (!AddTask(*task, scope, plan)) return;
    if (steps_ > kMaxSteps) {
      errors_.Add(task->document.Error(
          task->node, absl::StrCat("more than ", kMaxSteps, " steps in the plan of a node")));
      return;
    }
  }
  AddHandlers(*role_, scope, plan);
}

absl::Status PlanBuilder::Finish() {
  if (!left_out_.empty()) {
    for (v1::RolePlan& role : *out_->plan->mutable_roles()) {
      const std::vector<std::string> needs =
          left_out_.Bridge({role.needs().begin(), role.needs().end()});
      role.mutable_needs()->Assign(needs.begin(), needs.end());
    }
  }
  Add(CheckImageStep(*out_->plan));
  return errors_.ToStatus();
}

bool PlanBuilder::AddTask(const Task& task, RoleScope& scope, v1::RolePlan* role) {
  const absl::StatusOr<std::string> no =
      FirstFalse(task.when, scope.scope(), [&task](const Condition& condition) {
        return !task.loop.has_value() || !ReadsItem(condition);
      });
  if (!Add(no.status())) return true;
  if (task.assertion.has_value()) {
    return !no->empty() || CheckAssertion(task, scope.scope());
  }
  if (!no->empty()) {
    AddSkipped(task, SkipReason(*no), role);
  } else if (task.loop.has_value()) {
    AddLoop(task, scope, role);
  } else {
    Add(AddStep(task, scope, scope.scope(), "", role));
  }
  return true;
}

bool PlanBuilder::CheckAssertion(const Task& task, const tmpl::Scope& names) {
  const absl::StatusOr<std::string> broken = FirstFalse(task.assertion->that, names);
  if (!Add(broken.status())) return false;
  if (broken->empty()) return true;
  const absl::StatusOr<Value> message = task.assertion->message.Evaluate(names);
  if (!Add(message.status())) return false;
  // A secret in the message would end in logs.
  const std::string text = ContainsSecret(*message) ? absl::StrCat(*broken, " is false")
                           : message->is_string()   ? message->get<std::string>()
                                                    : message->dump();
  return errors_.Add(task.document.Error(task.node, absl::StrCat(node_.name(), ": ", text)));
}

void PlanBuilder::AddLoop(const Task& task, RoleScope& scope, v1::RolePlan* role) {
  const absl::StatusOr<Value> items = task.loop->Evaluate(scope.scope());
  if (!Add(items.status())) return;
  if (!items->is_array()) {
    errors_.Add(task.document.Error(*task.node.Find("loop"), "'loop' must evaluate to a list"));
    return;
  }
  if (items->empty()) AddSkipped(task, "loop: the list is empty", role);
  for (size_t i = 0; i < items->size() && steps_ <= kMaxSteps; ++i) {
    const Value& item = (*items)[i];
    tmpl::Scope names(&scope.scope());
    names.Share("item", std::shared_ptr<const Value>(std::shared_ptr<void>(), &item));
    const absl::StatusOr<std::string> no = FirstFalse(task.when, names, ReadsItem);
    if (!Add(no.status())) return;
    const std::string label = Label(item, i);
    if (!no->empty()) {
      v1::Step* step = AddSkipped(task, SkipReason(*no), role);
      step->set_name(absl::StrCat(step->name(), ": ", label));
      continue;
    }
    if (!Add(AddStep(task, scope, names, label, role))) return;
  }
}

void PlanBuilder::AddHandlers(const Role& role, RoleScope& scope, v1::RolePlan* plan) {
  for (const Task& handler : role.handlers) {
    ++steps_;
    v1::Step* step = plan->add_handlers();
    *step = *handler.prototype;
    step->set_step_id(HandlerId(role, handler.name_text));
    step->set_name(handler.name_text);
    step->set_source(handler.source);
    const absl::StatusOr<std::string> no = FirstFalse(handler.when, scope.scope());
    if (!Add(no.status())) continue;
    if (!no->empty()) {
      step->clear_resource();
      step->set_skip_reason(SkipReason(*no));
    } else {
      Add(FillResource(handler, scope, scope.scope(), step));
    }
  }
}

v1::Step* PlanBuilder::AddSkipped(const Task& task, absl::string_view reason, v1::RolePlan* role) {
  ++steps_;
  v1::Step* step = role->add_steps();
  step->set_step_id(UniqueId(absl::StrCat(role_->name, "/", task.name_text)));
  step->set_name(task.name_text);
  step->set_source(task.source);
  step->set_skip_reason(std::string(reason));
  return step;
}

absl::Status PlanBuilder::AddStep(const Task& task, RoleScope& scope, const tmpl::Scope& names,
                                  absl::string_view label, v1::RolePlan* role) {
  ++steps_;
  std::string name = task.name_text;
  if (!task.name.constant()) {
    ASSIGN_OR_RETURN(const Value rendered, task.name.Evaluate(names));
    if (ContainsSecret(rendered)) {
      return task.document.Error(*task.node.Find("name"), "a task's name cannot hold a secret");
    }
    name = rendered.is_string() ? rendered.get<std::string>() : rendered.dump();
  } else if (!label.empty()) {
    absl::StrAppend(&name, ": ", label);
  }
  v1::Step* step = role->add_steps();
  *step = *task.prototype;
  step->set_step_id(UniqueId(absl::StrCat(role_->name, "/", name)));
  step->set_name(name);
  step->set_source(task.source);
  for (const std::string& handler : task.notify) step->add_notify(HandlerId(*role_, handler));
  RETURN_IF_ERROR(FillResource(task, scope, names, step));
  // A version in the name must not make another archive of it. The items of a loop are others.
  if (step->has_archive() && !task.name.constant() && !task.loop.has_value()) {
    const std::string number =
        step->step_id().substr(absl::StrCat(role_->name, "/", name).size());  // "#2", or none
    step->mutable_archive()->set_remembered_as(
        absl::StrCat(role_->name, "/", task.name_text, number));
  }
  return absl::OkStatus();
}

template <typename File>
absl::Status PlanBuilder::PlaceContent(const Content& content, const Task& task, File* file) {
  const size_t size = content.text->size();
  if (content.sensitive && size > kMaxSecretContent) {
    return task.document.Error(
        task.node, absl::StrCat("a content of ", size, " bytes that contains a secret: at most ",
                                kMaxSecretContent));
  }
  // A blob costs its node a call and the controller a file: sharing makes it worthwhile sooner.
  const bool is_small_best = content.is_shared || inline_bytes_ > kMuchInline;
  const size_t limit = is_small_best ? kAlwaysInline : kMaxInline;
  if (size <= limit || content.sensitive) {
    inline_bytes_ += size;
    file->set_content(*content.text);
    return absl::OkStatus();
  }
  const std::string sha256 = content.sha256.empty() ? Sha256Hex(*content.text) : content.sha256;
  file->set_blob_sha256(sha256);
  file->set_blob_size(size);
  out_->blobs.emplace(sha256, content.text);
  return absl::OkStatus();
}

// Small contents stay in the plan.
template <typename File>
absl::Status PlanBuilder::PlaceOwnContent(bool sensitive, const Task& task, File* file) {
  if (file->content().size() <= kAlwaysInline) {
    inline_bytes_ += file->content().size();
    return absl::OkStatus();
  }
  Content content;
  content.text = std::make_shared<const std::string>(std::move(*file->mutable_content()));
  content.sensitive = sensitive;
  file->clear_content();
  return PlaceContent(content, task, file);
}

absl::Status PlanBuilder::PlaceArchive(const Content& content, const Task& task,
                                       v1::ArchiveResource* archive) {
  const std::string sha256 = content.sha256.empty() ? Sha256Hex(*content.text) : content.sha256;
  if (!archive->sha256().empty() && archive->sha256() != sha256) {
    return task.document.Error(task.node, absl::StrCat("the archive in files/ has sha256 ", sha256,
                                                       ", expected ", archive->sha256()));
  }
  archive->set_sha256(sha256);
  if (content.text->size() <= kAlwaysInline) {
    inline_bytes_ += content.text->size();
    archive->set_content(*content.text);
    return absl::OkStatus();
  }
  archive->set_is_blob(true);
  archive->set_blob_size(content.text->size());
  out_->blobs.emplace(sha256, content.text);
  return absl::OkStatus();
}

absl::Status PlanBuilder::FillParams(const std::vector<NodeParam>& params, const Task& task,
                                     RoleScope& scope, const tmpl::Scope& names,
                                     google::protobuf::Message* message, v1::Step* step,
                                     Filled* filled) {
  for (const NodeParam& param : params) {
    if (!param.elements.empty()) {
      RETURN_IF_ERROR(FillElements(param, task, scope, names, message, step, filled));
      continue;
    }
    ASSIGN_OR_RETURN(const Value value, param.value.Evaluate(names));
    if (value.is_null()) {
      if (param.param->required)
        return task.document.Error(param.node, absl::StrCat("'", param.param->key, "' is none"));
      filled->none.insert(param.param->key);
      continue;
    }
    if (param.param->type == ParamType::kTemplateFile ||
        param.param->type == ParamType::kRoleFile) {
      ASSIGN_OR_RETURN(const std::shared_ptr<const Content> content,
                       FindContent(param, value, task, scope, names));
      if (step->has_file() || step->has_archive()) {
        filled->whole = content;
      } else {
        SetBytes(*param.param, *content->text, message);
      }
      filled->sensitive = filled->sensitive || content->sensitive;
      continue;
    }
    if (const absl::Status set = SetField(*param.param, value, message, &filled->sensitive);
        !set.ok()) {
      return task.document.Error(param.node, set.message());
    }
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::FillElements(const NodeParam& list, const Task& task, RoleScope& scope,
                                       const tmpl::Scope& names, google::protobuf::Message* message,
                                       v1::Step* step, Filled* filled) {
  for (size_t i = 0; i < list.elements.size(); ++i) {
    Filled of_element;
    RETURN_IF_ERROR(FillParams(list.elements[i], task, scope, names,
                               MutableElement(*list.param, i, message), step, &of_element));
    filled->sensitive = filled->sensitive || of_element.sensitive;
    if (!HasContents(list.param->elements)) continue;
    const yaml::Node& map = list.node.IsMap() ? list.node : list.node.items()[i];
    const std::string wrong = list.param->check_element(GivenOnNode(map, of_element.none));
    if (!wrong.empty()) {
      return task.document.Error(
          map, absl::StrCat("an entry of '", list.param->key, "' ", wrong, kOnNode));
    }
  }
  if (const absl::Status twice = CheckElementsDiffer(*list.param, *message); !twice.ok()) {
    return task.document.Error(list.node, twice.message());
  }
  return absl::OkStatus();
}

absl::Status PlanBuilder::FillResource(const Task& task, RoleScope& scope, const tmpl::Scope& names,
                                       v1::Step* step) {
  Filled filled;
  RETURN_IF_ERROR(FillParams(task.params, task, scope, names, MutableResource(*task.type, step),
                             step, &filled));
  NoteSecrets(node_.play().TakeAsked());
  if (filled.sensitive) step->set_sensitive(true);
  if (step->has_package() && step->package().names().empty()) {
    step->clear_resource();
    step->set_skip_reason("names: the list is empty");
  } else if (step->has_file()) {
    const yaml::Entry& written = *task.node.FindEntry(task.type->key);
    const std::string wrong = step->file().state() == v1::PRESENCE_ABSENT
                                  ? ""
                                  : task.type->check(GivenOnNode(written.value, filled.none));
    if (!wrong.empty())
      return task.document.Error(written.key_mark, absl::StrCat("'file' ", wrong, kOnNode));
    if (filled.whole != nullptr) return PlaceContent(*filled.whole, task, step->mutable_file());
    return PlaceOwnContent(filled.sensitive, task, step->mutable_file());
  } else if (step->has_archive() && filled.whole != nullptr) {
    return PlaceArchive(*filled.whole, task, step->mutable_archive());
  } else if (step->has_command()) {
    const size_t size = step->command().input().size();
    inline_bytes_ += size;
    if (size > kMaxInput)
      return task.document.Error(
          task.node, absl::StrCat("a 'stdin' of ", size, " bytes: at most ", kMaxInput));
  } else if (step->has_reboot() && !step->reboot().image().empty()) {
    if (const absl::Status named = CheckBuildName(step->reboot().image()); !named.ok())
      return task.document.Error(task.node, named.message());
  } else if (step->has_files_in()) {
    for (v1::FileSetEntry& file : *step->mutable_files_in()->mutable_files()) {
      RETURN_IF_ERROR(PlaceOwnContent(filled.sensitive, task, &file));
    }
  }
  return absl::OkStatus();
}

void PlanBuilder::NoteSecrets(const std::set<std::string>& names) {
  for (const std::string& name : names) out_->secrets[name].insert(role_->name);
}

absl::StatusOr<std::shared_ptr<const Content>> PlanBuilder::FindContent(const NodeParam& param,
                                                                        const Value& value,
                                                                        const Task& task,
                                                                        RoleScope& scope,
                                                                        const tmpl::Scope& names) {
  const std::string name = value.is_string() ? value.get<std::string>() : "";
  const bool is_file = param.param->type == ParamType::kRoleFile;
  if (is_file) {
    const auto found = role_->files.find(name);
    if (found != role_->files.end()) return found->second;
  }
  const auto found = role_->templates.find(name);
  if (is_file || found == role_->templates.end()) {
    const std::vector<std::string> known =
        is_file ? KeysOf(role_->files) : KeysOf(role_->templates);
    return task.document.Error(
        param.node, absl::StrCat("role ", role_->name, " has no file '", name, "' in ",
                                 is_file ? "files/" : "templates/", DidYouMean(name, known)));
  }
  // `item` may refer to the variable of a template's own loop: render it anew in that case too.
  const std::optional<std::string> key = scope.CacheKey(found->second);
  if (key.has_value()) {
    const auto cached = cache_.find(*key);
    if (cached != cache_.end()) {
      NoteSecrets(cached->second->secrets);
      return cached->second;
    }
  }
  NoteSecrets(node_.play().TakeAsked());
  ASSIGN_OR_RETURN(tmpl::Rendered rendered, found->second.Render(names));
  auto content = std::make_shared<Content>();
  content->text = std::make_shared<const std::string>(std::move(rendered.text));
  content->is_shared = key.has_value();
  content->sensitive = rendered.sensitive;
  content->secrets = node_.play().TakeAsked();
  NoteSecrets(content->secrets);
  if (key.has_value()) {
    content->sha256 = Sha256Hex(*content->text);
    cache_.emplace(*key, content);
  }
  return std::shared_ptr<const Content>(std::move(content));
}

}  // namespace muster::controller::playbook
