// The YAML files of a site bundle.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/yaml/document.h"
#include "controller/playbook/compiler.h"

namespace muster::controller::playbook {

// NotFound when the file does not exist; when an unquoted template broke the YAML, the error names
// it as the cause.
absl::StatusOr<yaml::Document> ReadYaml(const FileTree& site, const std::string& path);

// "no file X", with the nearest path of the same folder.
std::string NoFile(const FileTree& site, const std::string& path);

// The paths that begin with `folder`, without it, sorted.
std::vector<std::string> FilesUnder(const FileTree& site, const std::string& folder);

}  // namespace muster::controller::playbook
