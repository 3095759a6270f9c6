// Reads the folder of a role into a checked Role.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/compiler.h"
#include "controller/playbook/errors.h"
#include "controller/playbook/model.h"

namespace muster::controller::playbook {

// Reads <base>roles/<name>/. `base` is the playbook's folder, "playbooks/" or "". `used_at` is
// where the play names the role: errors about a missing role are shown there. Adds any errors to
// *errors; after an error the result is only good for finding further errors.
std::shared_ptr<const Role> ReadRole(const FileTree& site, const std::string& base,
                                     const std::string& name, const yaml::Document& document,
                                     const yaml::Node& used_at, ErrorList* errors);

// The role that a play's own `tasks:` and `handlers:` make up; its templates and files lie beside
// the playbook.
std::shared_ptr<const Role> ReadInlineRole(const FileTree& site, const std::string& base,
                                           const yaml::Document& document, const yaml::Node& tasks,
                                           const yaml::Node& handlers, ErrorList* errors);

}  // namespace muster::controller::playbook
