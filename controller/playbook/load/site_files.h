// The YAML files of a site bundle.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::playbook {

// NotFound when there is no such file; a template without quotes is named as the cause where it
// broke the YAML.
absl::StatusOr<yaml::Document> ReadYaml(const FileTree& site, const std::string& path);

// "no file X", with the nearest path of the same folder.
std::string NoFile(const FileTree& site, const std::string& path);

// The paths that begin with `folder`, without it, sorted.
std::vector<std::string> FilesUnder(const FileTree& site, const std::string& folder);

}  // namespace muster::controller::playbook
