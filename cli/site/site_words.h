// Words from the site folder of the current directory, for completion.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

// The tags of plays, roles and tasks in the YAML files below `folder`, sorted. Files that cannot be
// read are left out.
std::vector<std::string> SiteTags(const std::string& folder);

// The names of the folders in `folder`/roles, and "tasks", the name of a play's own tasks; sorted.
std::vector<std::string> SiteRoles(const std::string& folder);

}  // namespace muster::cli
