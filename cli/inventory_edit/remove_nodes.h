// Nodes out of an inventory that people wrote. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::cli {

struct NodeRemoval {
  std::map<std::string, std::string> texts;  // the new ones of the files that change
  std::set<std::string> files;               // those that go: node_vars/NAME.yaml
};

// Takes the nodes out wherever a host list names them: the keys of `nodes` with their addresses,
// and `nodes` of groups, racks and partitions. An entry of several nodes shrinks, an entry of these
// nodes alone goes, a list that loses all becomes []; whatever else the files contain stays byte
// for byte. Nodes that no file names are fine.
//
// Errors name the place. InvalidArgument: the files are written in a way that is not changed
// automatically. FailedPrecondition: a partition would have no node left.
absl::StatusOr<NodeRemoval> RemoveNodes(const std::map<std::string, std::string>& files,
                                        const std::vector<std::string>& names);

}  // namespace muster::cli
