// What a store that was taken back to a backup remembers of that; included by tables.h.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

class RestoreTable {
 public:
  virtual ~RestoreTable() = default;
  // The store has become that of a backup: keeps the time, and marks all members as not seen in
  // Slurm since.
  virtual absl::Status Begin(absl::Time restored_at) = 0;
  // The time of the last restore; nullopt: there was none.
  virtual absl::StatusOr<std::optional<absl::Time>> RestoredAt() = 0;
  // Uuid and name, ordered by name, of the members that are still marked.
  virtual absl::StatusOr<std::vector<std::pair<std::string, std::string>>> ListUnseen() = 0;
  // Does nothing where the node is not marked.
  virtual absl::Status MarkSeen(absl::string_view node_uuid) = 0;
};

}  // namespace muster::controller
