// A suite's Release file: which indexes it has, and their digests. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller::snapshot {

// A file below dists/SUITE.
struct IndexFile {
  std::string path;  // "main/binary-amd64/Packages.xz"
  std::string sha256;
  uint64_t size = 0;
};

// Whether it is an index of packages, in whatever form.
bool IsPackageIndex(absl::string_view path);

struct Release {
  std::optional<absl::Time> date;
  std::optional<absl::Time> valid_until;
  bool has_by_hash = false;  // indexes can be had by their digest, too
  // Packages of architecture "all" are in indexes of their own, and not in those of the others.
  bool all_is_apart = false;
  std::map<std::string, IndexFile> files;  // by path
};

// InvalidArgument: not a Release file, without SHA256, or a line of it is wrong.
absl::StatusOr<Release> ParseRelease(absl::string_view text);

// The indexes that apt reads for these components and architectures, in one form each. Those of
// packages come first, by component; of each the smallest form that we can read (.xz, .gz, plain).
// Then what apt asks for besides, and does not do without where the suite lists it: translations of
// descriptions, and the names of commands. NotFound names the index of packages that is missing.
absl::StatusOr<std::vector<IndexFile>> ChooseIndexes(const Release& release,
                                                     const std::vector<std::string>& components,
                                                     const std::vector<std::string>& architectures);

}  // namespace muster::controller::snapshot
