// The files below a folder of a site.
#pragma once

#include <filesystem>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace muster::cli {

// Visits every regular file below `folder`; links to files and folders are followed. `is_left_out`
// sees each name with its depth, 0 directly in the folder, and a folder that it leaves out is not
// entered. `is_needed` says whether a file of this name matters: of others, those whose type cannot
// be told are passed over. InvalidArgument, with the remedy: a link leads to a folder that it is
// in. Unavailable: a folder cannot be read. FailedPrecondition: see TypeOf().
absl::Status VisitFiles(const std::filesystem::path& folder,
                        absl::FunctionRef<bool(const std::string& name, int depth)> is_left_out,
                        absl::FunctionRef<bool(const std::string& name)> is_needed,
                        absl::FunctionRef<absl::Status(const std::filesystem::path& file)> visit);

}  // namespace muster::cli
