// An edit of the inventory on disk and in the controller, which stay the same.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "muster/v1/inventory.pb.h"

namespace muster::cli {

class Connection;

// An edit before anything has changed.
struct InventoryChange {
  // By path as ReadInventoryFiles() names it; both empty: the files are as they are to be already.
  // The old texts are those of files that change or go.
  std::map<std::string, std::string> old_texts, new_texts;
  std::set<std::string> removed_files;
  v1::ApplyInventoryRequest request;  // with the edited files
  std::vector<std::string> changes;   // what that changes; empty: there is nothing to do
};

// The inventory in force, of GetInventoryResponse.
absl::StatusOr<std::string> ResolvedInventory(const Connection& connection);
// Those of its nodes that `names` has, in the order of `names`.
std::vector<std::string> NodesInForce(const std::string& resolved_json,
                                      const std::vector<std::string>& names);

// How the inventory in force differs from the request's.
absl::StatusOr<std::vector<std::string>> Differences(const Connection& connection,
                                                     const v1::ApplyInventoryRequest& request);

// FailedPrecondition, with the remedy: the two differ already, `first` being one difference.
absl::Status InventoriesDiffer(const std::string& path, const std::string& first);

// The files of the request by their paths.
std::map<std::string, std::string> TextsOf(const v1::ApplyInventoryRequest& request);

// The differences of the files, those too that come or go.
std::string DescribeTexts(const std::map<std::string, std::string>& before,
                          const std::map<std::string, std::string>& after);

// Puts the edit into the request and asks the controller what it would change.
absl::Status TakeEdit(const Connection& connection, std::map<std::string, std::string> new_texts,
                      std::set<std::string> removed_files, InventoryChange& change);

// Changes the files at `path`, then applies them; returns the revision. A refusal of the controller
// leaves the files as they were.
absl::StatusOr<uint64_t> CarryOut(const Connection& connection, const std::string& path,
                                  const InventoryChange& change);

}  // namespace muster::cli
