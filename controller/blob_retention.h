// Finds blobs that nobody will ask for again.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "controller/artifact/blob_store.h"

namespace muster::controller {

class Store;

// The blobs that the store refers to: bundles, active runs, and plans whose end was not reported.
// Reads a little at a time; blobs that are first referred to meanwhile may be missing.
absl::StatusOr<std::set<std::string>> ReferredBlobs(Store& store);

// The `blobs` that are not in `referred` and were last used before `time`.
std::vector<std::string> UnusedBlobs(const std::vector<BlobInfo>& blobs,
                                     const std::set<std::string>& referred, absl::Time time);

}  // namespace muster::controller
