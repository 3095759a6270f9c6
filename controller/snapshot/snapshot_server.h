// Snapshots, as package managers read them.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "controller/http/http_message.h"
#include "muster/v1/snapshot.pb.h"

namespace muster::controller::snapshot {

class PoolFetcher;
class SnapshotStore;

// The path of a repository on the package server: "/snapshot/NAME/REPOSITORY". Pure.
std::string PathOf(absl::string_view snapshot, absl::string_view repository);

// The digest of the index at a path below the repository: dists/SUITE/InRelease, the indexes of
// packages, and these by their digests. "": there is none there. Pure.
std::string FindIndex(const v1::SnapshotRepository& repository, absl::string_view path);

// Answers /snapshot/NAME/REPOSITORY/dists/… from what is kept, and the paths of packages that its
// indexes name by the fetcher; 404 for all others. Whoever asks gets nothing but what distributions
// give to everybody, and every file is verified by the distribution's signature.
HttpReply ServeSnapshot(SnapshotStore& store, PoolFetcher& fetcher, absl::string_view path);

}  // namespace muster::controller::snapshot
