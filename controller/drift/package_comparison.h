// Names the packages in which nodes differ.
#pragma once

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "muster/v1/facts.pb.h"

namespace muster::v1 {
class CompareNodesResponse;
class PackageDifferences;
}  // namespace muster::v1

namespace muster::controller::drift {

// At most so many are named of a node.
inline constexpr int kMostPackageDifferences = 1000;
// So many nodes are asked for one response; each may take seconds.
inline constexpr int kMostNodesAsked = 16;

// Fills everything but the nodes: the packages of `own` that `common` does not have alike, and
// those that it lacks. Where a node has not told all its packages, the message says so. Pure.
void ComparePackages(const v1::PackageFacts& own, const v1::PackageFacts& common,
                     v1::PackageDifferences& differences);

// The packages of a node, with their names. NotFound: the node cannot be asked, and another of its
// kind may be. Cancelled: nobody waits for the answer any more.
using AskForPackages = absl::FunctionRef<absl::StatusOr<v1::PackageFacts>(const std::string& node)>;

// Fills the package_differences of the classes: asks one node of each value of the trait
// kPackagesTrait that nodes tell, and compares it with one of the value that most of them tell.
void NamePackages(v1::CompareNodesResponse& response, AskForPackages ask);

}  // namespace muster::controller::drift
