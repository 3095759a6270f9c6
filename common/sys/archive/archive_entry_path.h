// Checks where the entries of an archive may go. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

// The path of an entry below the target, without leading "./", trailing slashes and the first
// `strip` parts; "" when nothing is left. InvalidArgument, with the entry's name, for absolute
// paths, "..", and names that no file can have.
absl::StatusOr<std::string> EntryPath(absl::string_view raw, uint32_t strip);

// The symbolic links of a tree that does not exist yet, by their paths.
using LinkMap = std::map<std::string, std::string>;

// InvalidArgument when the link at `path` leads out of the tree, by itself or through other links.
// `place`: where the tree will stand; absolute targets below it stay inside.
absl::Status CheckLink(const LinkMap& links, const std::string& path, const std::string& place);

}  // namespace muster::sys
