// Whole trees put where they belong.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace muster::sys {

// Makes durable what is on the file system of the directory.
absl::Status SyncFileSystem(const std::string& directory);

// Puts the tree `from` at `to`, where nothing is, in one step. Both are on one file system.
absl::Status MoveTree(const std::string& from, const std::string& to);
// The same with a tree at `to`, which is at `from` afterwards. Not every file system can.
absl::Status SwapTrees(const std::string& from, const std::string& to);
// Moves what is in `from` into the directory `to` of the same file system, file by file, each in
// one step. Directories that are in both keep what is in them. FailedPrecondition, before anything
// was moved, where one has a directory and the other has none; no link is followed.
absl::Status MergeTree(const std::string& from, const std::string& to);

}  // namespace muster::sys
