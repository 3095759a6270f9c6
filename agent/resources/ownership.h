// Owner, group and mode, as files and directories share them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/resources/resource.h"
#include "agent/sys/accounts.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// Names (or numbers) as a step has them; empty or absent: not asked for.
struct OwnershipSpec {
  std::string owner;
  std::string group;
  std::optional<mode_t> mode;
};

// With names looked up. FailedPrecondition names an unknown user or group.
absl::StatusOr<sys::FileAttributes> ResolveOwnership(const OwnershipSpec& spec,
                                                     AccountDatabase& accounts);

// What of `want` differs from `now`, with names where there are names.
absl::StatusOr<std::vector<Change>> CompareOwnership(const sys::FileStat& now,
                                                     const sys::FileAttributes& want,
                                                     AccountDatabase& accounts);

// "0644".
std::string FormatMode(mode_t mode);

}  // namespace muster::agent
