// Reads task and handler files into the checked tasks of one role.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/load/site_files.h"
#include "controller/playbook/model.h"

namespace muster::controller::playbook {

// Reads the words of `tags:`, `notify:`, `needs:`: one or a list.
bool ReadWords(const yaml::Document& document, const yaml::Node& node, absl::string_view what,
               std::vector<std::string>* out, ErrorList* errors);

// Reads `tags:` and adds them to *out. Words by which Ansible runs tasks always or never are
// errors: here they would be tags like any others.
bool ReadTags(const yaml::Document& document, const yaml::Node& node, std::set<std::string>* out,
              ErrorList* errors);

// Fills role->handlers and role->tasks. REQUIRES: the role's templates and files have been read
// already, because tasks name them.
class TaskReader {
 public:
  // `folder` is the role's, "playbooks/roles/munge/"; `base` is the playbook's, which the sources
  // of steps leave out. All pointees must outlive the reader.
  TaskReader(const FileTree& site, std::string folder, std::string base, Role* role,
             ErrorList* errors);

  void ReadHandlers(const yaml::Document& document, const yaml::Node& list);
  // REQUIRES: ReadHandlers() was called before, if there are handlers.
  void ReadTasks(const yaml::Document& document, const yaml::Node& list);

 private:
  // Conditions and tags that the tasks of an included file inherit from the include.
  struct Inherited {
    std::vector<Condition> when;
    std::set<std::string> tags;
  };

  bool IsList(const yaml::Document& document, const yaml::Node& list, absl::string_view what);
  void ReadList(const yaml::Document& document, const yaml::Node& list, const Inherited& inherited);
  void ReadInclude(const yaml::Document& document, const yaml::Node& node,
                   const Inherited& inherited);
  void ReadTask(const yaml::Document& document, const yaml::Node& node, const Inherited& inherited,
                bool handler, std::vector<Task>* out);
  void ReadGeneralKeys(Task* task, bool handler);
  void ReadLoop(const yaml::Node& node, Task* task);
  void ReadNotify(const yaml::Node& node, Task* task);
  void ReadAssertion(const yaml::Node& node, bool handler, Task* task);
  void ReadResource(const yaml::Entry& entry, bool handler, Task* task);

  const FileTree& site_;
  const std::string folder_;
  const std::string base_;
  Role* const role_;
  ErrorList* const errors_;
  std::vector<std::string> including_;  // files, outermost first
  size_t includes_ = 0;
};

}  // namespace muster::controller::playbook
