// Data that resources remember from run to run, because the node itself does not have it: what a
// whole set put there, what was there before, what an archive unpacked.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// One file per record, replaced as a whole; only root has access. `kind` is a resource's key in
// plans ("sysctls"), `key` tells its records apart and may hold any bytes (a path). Thread-safe:
// roles that run in parallel own different records.
//
// Write the record before the change that it describes: a crash in between leaves a record of
// something that does not exist, which undoing survives, never the reverse.
class ResourceRecords {
 public:
  // `directory`: see Paths. `files` must outlive the object.
  ResourceRecords(std::string directory, sys::FileSystem& files)
      : directory_(std::move(directory)), files_(files) {}

  // nullopt: there is none.
  absl::StatusOr<std::optional<std::string>> Get(absl::string_view kind,
                                                 absl::string_view key) const;
  absl::Status Put(absl::string_view kind, absl::string_view key, const std::string& record);
  // It is a success if there is none.
  absl::Status Remove(absl::string_view kind, absl::string_view key);

 private:
  std::string PathOf(absl::string_view kind, absl::string_view key) const;

  const std::string directory_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
