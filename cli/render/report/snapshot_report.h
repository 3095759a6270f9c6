// Snapshots of repositories as text for people. Pure.
#pragma once

#include <string>

#include "absl/time/time.h"

namespace muster::v1 {
class DiffSnapshotsResponse;
class ListSnapshotsResponse;
class Snapshot;
}  // namespace muster::v1

namespace muster::cli {

// A row for each snapshot.
std::string RenderSnapshots(const v1::ListSnapshotsResponse& response, absl::Time now);

// Its repositories, suites and the digests of their indexes.
std::string RenderSnapshot(const v1::Snapshot& snapshot, absl::Time now);

// One that has just been created, and how nodes get it.
std::string RenderNewSnapshot(const v1::Snapshot& snapshot);

// A line for each pair of versions, with the packages that it applies to.
std::string RenderSnapshotDiff(const v1::DiffSnapshotsResponse& response);

}  // namespace muster::cli
