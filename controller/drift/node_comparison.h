// Holds nodes that should be alike against each other, by their facts. What a playbook does not
// manage shows here: firmware, kernel arguments, packages, parts of the machine. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::v1 {
class CompareNodesResponse;
class Facts;
}  // namespace muster::v1

namespace muster::controller::drift {

// The trait of the packages, and what stands in the place of a value that nodes do not tell.
inline constexpr absl::string_view kPackagesTrait = "packages";
inline constexpr absl::string_view kUnknownTrait = "unknown";

// What the boot loader gave the kernel, without what differs from node to node by its nature: the
// image that was loaded, disks by their ids, addresses.
std::string ComparableKernelArguments(absl::string_view arguments);

// Not thread-safe.
class NodeComparison {
 public:
  // Nodes in the order in which they are to be shown.
  void Add(const std::string& name, absl::string_view role, const v1::Facts& facts);
  void AddWithoutFacts(const std::string& name) { without_facts_.push_back(name); }

  // Call once, last.
  void Finish(v1::CompareNodesResponse& response);

 private:
  struct Class {
    std::pair<std::string, std::string> key;  // role, machine
    std::vector<std::string> nodes;
    // For each row of the table of traits, the nodes of each value.
    std::vector<std::map<std::string, std::vector<std::string>>> traits;
  };

  std::vector<Class> classes_;
  std::map<std::pair<std::string, std::string>, size_t> by_key_;
  std::vector<std::string> without_facts_;
};

}  // namespace muster::controller::drift
