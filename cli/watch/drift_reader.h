// Asks for what the drift policies know, and in what nodes differ.
#pragma once

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/drift.pb.h"

namespace muster::cli {

class Connection;

// `nodes`: a selector; empty: all.
absl::StatusOr<v1::ListDriftResponse> ReadDrift(const Connection& connection,
                                                absl::string_view nodes);
// `name_packages`: as of v1::CompareNodesRequest.
absl::StatusOr<v1::CompareNodesResponse> ReadComparison(const Connection& connection,
                                                        absl::string_view nodes,
                                                        bool name_packages = false);

}  // namespace muster::cli
