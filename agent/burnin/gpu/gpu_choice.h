// Chooses the GPUs that `--gpus` names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::burnin {

// Indices into `uuids` for words such as "2", "0-3" or "GPU-…", in the order of the GPUs; no words
// mean all. InvalidArgument names a word that is not understood, or a GPU that does not exist.
absl::StatusOr<std::vector<unsigned>> ChooseGpus(const std::vector<std::string>& words,
                                                 const std::vector<std::string>& uuids);

}  // namespace muster::burnin
