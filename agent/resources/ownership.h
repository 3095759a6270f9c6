// Owner, group and mode, which files and directories share.
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

// Names (or numbers) from a step; empty or absent: not specified.
struct OwnershipSpec {
  std::string owner;
  std::string group;
  std::optional<mode_t> mode;
};

// Looks up the names. FailedPrecondition names an unknown user or group.
absl::StatusOr<sys::FileAttributes> ResolveOwnership(const OwnershipSpec& spec,
                                                     AccountDatabase& accounts);

// The parts of `want` that differ from `now`, with names where there are any.
absl::StatusOr<std::vector<Change>> CompareOwnership(const sys::FileStat& now,
                                                     const sys::FileAttributes& want,
                                                     AccountDatabase& accounts);

// "0644".
std::string FormatMode(mode_t mode);

}  // namespace muster::agent
