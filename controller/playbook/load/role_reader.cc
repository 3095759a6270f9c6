#include "controller/playbook/load/role_reader.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/digest.h"
#include "common/base/text/nearest_word.h"
#include "common/yaml/value.h"
#include "controller/playbook/load/site_files.h"
#include "controller/playbook/load/task_reader.h"
#include "controller/playbook/words.h"
#include "controller/template/folder.h"

namespace muster::controller::playbook {
namespace {

bool IsRoleName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || c == '-' || absl::ascii_isalnum(static_cast<unsigned char>(c));
  });
}

std::vector<std::string> RoleNames(const FileTree& site, const std::string& base) {
  std::set<std::string> names;
  for (const std::string& path : FilesUnder(site, base + "roles/")) {
    const size_t slash = path.find('/');
    if (slash != std::string::npos) names.insert(path.substr(0, slash));
  }
  return {names.begin(), names.end()};
}

void ReadTemplates(const FileTree& site, const std::string& folder, Role* role, ErrorList* errors) {
  const std::vector<std::string> names = FilesUnder(site, folder);
  tmpl::TemplateFolder templates;
  for (const std::string& name : names) {
    const std::string path = folder + name;
    templates.Add(name, site.at(path), {.file = path});
  }
  for (const std::string& name : names) {
    absl::StatusOr<tmpl::Template> parsed = templates.Parse(name);
    if (errors->Add(parsed.status())) role->templates.emplace(name, *std::move(parsed));
  }
}

void ReadFiles(const FileTree& site, const std::string& folder, Role* role) {
  for (const std::string& name : FilesUnder(site, folder)) {
    const std::string& text = site.at(folder + name);
    Content content{std::make_shared<const std::string>(text), Sha256Hex(text)};
    content.is_shared = true;
    role->files.emplace(name, std::make_shared<const Content>(std::move(content)));
  }
}

void ReadDefaults(const FileTree& site, const std::string& path, Role* role, ErrorList* errors) {
  const absl::StatusOr<yaml::Document> document = ReadYaml(site, path);
  if (!errors->Add(document.status()) || document->root().IsNull()) return;
  if (!document->root().IsMap()) {
    errors->Add(document->Error(document->root(), "defaults must be a map of variables"));
    return;
  }
  for (const yaml::Entry& entry : document->root().entries()) {
    const std::string wrong = CheckVariable(entry.key);
    if (!wrong.empty()) {
      errors->Add(document->Error(entry.key_mark, wrong));
      continue;
    }
    absl::StatusOr<ValueTemplate> value =
        ValueTemplate::FromYaml(*document, entry.value, Scalars::kTyped);
    if (!errors->Add(value.status())) continue;
    role->defaults.emplace(entry.key,
                           Default{*std::move(value), absl::StrCat(path, ":", entry.key_mark.line),
                                   yaml::ToValue(entry.value).dump()});
  }
}

// No file in a role's folder is ignored silently.
void CheckRoleFiles(const FileTree& site, const std::string& folder, ErrorList* errors) {
  static const auto* const kFolders =
      new std::vector<std::string>{"tasks", "handlers", "defaults", "templates", "files"};
  for (const std::string& path : FilesUnder(site, folder)) {
    const size_t slash = path.find('/');
    if (slash == std::string::npos) continue;  // README.md and the like
    const std::string part = path.substr(0, slash);
    if (std::find(kFolders->begin(), kFolders->end(), part) == kFolders->end()) {
      errors->Add(absl::InvalidArgumentError(
          absl::StrCat(folder, path, ": a role has no folder '", part, "'",
                       part == "vars" ? ": put variables into defaults/ or the inventory"
                                      : DidYouMean(part, *kFolders),
                       " (known: tasks, handlers, defaults, templates, files)")));
      return;
    }
    if (part == "templates" || part == "files") continue;
    if (absl::EndsWith(path, ".yml")) {
      errors->Add(absl::InvalidArgumentError(
          absl::StrCat(folder, path, ": rename it to ", absl::StripSuffix(path, "yml"), "yaml")));
    } else if (part != "tasks" && absl::EndsWith(path, ".yaml") && path != part + "/main.yaml") {
      errors->Add(absl::InvalidArgumentError(
          absl::StrCat(folder, path, " is never read: only ", part, "/main.yaml is")));
    }
  }
}

// Reads a file of tasks or handlers, which may be absent.
template <typename Read>
void ReadIfThere(const FileTree& site, const std::string& path, ErrorList* errors, Read read) {
  if (site.find(path) == site.end()) return;
  const absl::StatusOr<yaml::Document> document = ReadYaml(site, path);
  if (errors->Add(document.status())) read(*document);
}

}  // namespace

std::shared_ptr<const Role> ReadRole(const FileTree& site, const std::string& base,
                                     const std::string& name, const yaml::Document& document,
                                     const yaml::Node& used_at, ErrorList* errors) {
  auto role = std::make_shared<Role>();
  role->name = name;
  const std::string folder = absl::StrCat(base, "roles/", name, "/");
  if (!IsRoleName(name) || FilesUnder(site, folder).empty()) {
    const std::vector<std::string> known = RoleNames(site, base);
    errors->Add(document.Error(used_at, absl::StrCat("no role '", name, "' in ", base, "roles/",
                                                     DidYouMean(name, known))));
    return role;
  }
  CheckRoleFiles(site, folder, errors);
  const std::string defaults = folder + "defaults/main.yaml";
  if (site.find(defaults) != site.end()) ReadDefaults(site, defaults, role.get(), errors);
  ReadTemplates(site, folder + "templates/", role.get(), errors);
  ReadFiles(site, folder + "files/", role.get());
  const std::string tasks = folder + "tasks/main.yaml";
  if (site.find(tasks) == site.end()) {
    errors->Add(
        document.Error(used_at, absl::StrCat("role '", name, "' has no tasks: no file ", tasks)));
    return role;
  }
  TaskReader reader(site, folder, base, role.get(), errors);
  ReadIfThere(site, folder + "handlers/main.yaml", errors,
              [&](const yaml::Document& found) { reader.ReadHandlers(found, found.root()); });
  ReadIfThere(site, tasks, errors,
              [&](const yaml::Document& found) { reader.ReadTasks(found, found.root()); });
  return role;
}

std::shared_ptr<const Role> ReadInlineRole(const FileTree& site, const std::string& base,
                                           const yaml::Document& document, const yaml::Node& tasks,
                                           const yaml::Node& handlers, ErrorList* errors) {
  auto role = std::make_shared<Role>();
  role->name = kInlineRole;
  ReadTemplates(site, base + "templates/", role.get(), errors);
  ReadFiles(site, base + "files/", role.get());
  TaskReader reader(site, base, base, role.get(), errors);
  reader.ReadHandlers(document, handlers);
  reader.ReadTasks(document, tasks);
  return role;
}

}  // namespace muster::controller::playbook
