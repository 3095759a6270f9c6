// What resources remember from run to run, because the node itself does not tell: what a whole set
// put there, what was before, what an archive unpacked.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// One file a record, replaced as a whole; root's alone. `kind` is a resource's key in plans
// ("sysctls"), `key` tells its records apart and may hold any bytes (a path). Thread-safe: roles
// that run side by side own different records.
//
// Write the record before the change that it is about: a crash in between leaves a record of what
// is not there, which undoing survives, never the reverse.
class ResourceRecords {
 public:
  // `directory`: see Paths. `files` must outlive the object.
  ResourceRecords(std::string directory, sys::FileSystem& files)
      : directory_(std::move(directory)), files_(files) {}

  // nullopt: there is none.
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view kind,
                                                 absl::string_view key) const;
  absl::Status Put(absl::string_view kind, absl::string_view key, const std::string& record);
  // None there is success.
  absl::Status Remove(absl::string_view kind, absl::string_view key);

 private:
  std::string PathOf(absl::string_view kind, absl::string_view key) const;

  const std::string directory_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
