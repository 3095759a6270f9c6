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
absl::StatusOr<v1::CompareNodesResponse> ReadComparison(const Connection& connection,
                                                        absl::string_view nodes);

}  // namespace muster::cli
