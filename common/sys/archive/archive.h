// Small trees of files as one .tar.gz in memory: the site folder that becomes a bundle.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::sys {

struct ArchiveLimits {
  size_t max_files = 20000;
  size_t max_total_bytes = size_t{64} << 20;  // of unpacked contents
};

// `files` maps relative paths ("roles/base/tasks/main.yaml") to contents. The same files give the
// same bytes: sorted, no times, no owners. InvalidArgument names a path that is not relative or
// holds "..".
absl::StatusOr<std::string> PackTarGz(const std::map<std::string, std::string>& files);

// The regular files in `archive`, which comes from an untrusted source: InvalidArgument for damaged
// data and for entries that are absolute, climb with "..", appear twice, are links or devices;
// ResourceExhausted above the limits. Directories are skipped.
absl::StatusOr<std::map<std::string, std::string>> UnpackTarGz(absl::string_view archive,
                                                               const ArchiveLimits& limits = {});

}  // namespace muster::sys
