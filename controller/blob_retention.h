// Which blobs nobody will ask for again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/artifact/blob_store.h"

namespace muster::controller {

class Store;

// What the store says of blobs: bundles, runs that go on, plans whose end was not reported. Reads a
// little at a time; what is referred to meanwhile may be missing.
absl::StatusOr<std::set<std::string>> ReferredBlobs(Store& store);

// Those of `blobs` that are not in `referred` and were last used before `time`.
std::vector<std::string> UnusedBlobs(const std::vector<BlobInfo>& blobs,
                                     const std::set<std::string>& referred, absl::Time time);

}  // namespace muster::controller
