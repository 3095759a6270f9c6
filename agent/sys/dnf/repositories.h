// dnf's own files of repositories and module streams. Pure.
#pragma once

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::agent {

inline constexpr char kRepositoryFolder[] = "/etc/yum.repos.d";
// The priority of a repository whose file states none; the lowest number wins.
inline constexpr int kDefaultPriority = 99;

// Adds the priorities that a .repo file states: repository → priority.
void ReadPriorities(absl::string_view text, std::map<std::string, int>& priorities);

// The stream that a file of /etc/dnf/modules.d enables for `module`; "": none.
std::string EnabledStream(absl::string_view text, absl::string_view module);

}  // namespace muster::agent
