// New nodes in an inventory that people wrote, beside nodes that are like them. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::cli {

// The nodes to add, with what distinguishes them from the node that they are like.
struct NodeAddition {
  std::vector<std::string> names;
  // By name; empty where the nodes are to have none.
  std::map<std::string, std::string> addresses, bmc_addresses;
  // By name, the first port first: of all nodes, which then get an entry of their own, or of none.
  // Where one has several, each gets its own.
  std::map<std::string, std::vector<std::string>> macs;
  std::string like;  // an existing node
  std::string rack;  // empty: that of `like`
};

// The node that `name` continues: of those that differ in their last number alone the nearest below
// it, else the nearest above. Empty: there is none.
std::string NodeLike(const std::vector<std::string>& existing, absl::string_view name);

// Adds the nodes wherever the host list of `like` stands: the keys of `nodes`, and `nodes` of
// groups, racks and partitions. An entry of several nodes grows, the entry of one node is copied;
// whatever else the files contain stays byte for byte. Returns the new texts of the files that
// change.
//
// Errors name the place. InvalidArgument, NotFound or AlreadyExists: the nodes cannot be added like
// this, or the files are written in a way that is not changed automatically.
absl::StatusOr<std::map<std::string, std::string>> AddNodes(
    const std::map<std::string, std::string>& files, const NodeAddition& addition);

}  // namespace muster::cli
