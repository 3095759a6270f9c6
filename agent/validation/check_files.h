// The checks of this node on its disk: <state folder>/checks/<check id, with + for />.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/records.pb.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::agent {

// Letters, digits, '.', '_', '-' and '/', at most 200: a valid file name.
bool IsCheckId(absl::string_view check_id);

// One record per check, replaced as a whole. Blocks on the disk. Thread-safe for different checks.
class CheckFiles {
 public:
  CheckFiles(std::string directory, sys::FileSystem& files)
      : directory_(std::move(directory)), files_(files) {}

  // The records that an earlier life of the agent left; unreadable ones are removed.
  absl::StatusOr<std::vector<v1::CheckRecord>> List();
  absl::StatusOr<v1::CheckRecord> Get(const std::string& check_id);
  absl::Status Put(const v1::CheckRecord& record);
  // Also removes its key.
  absl::Status Remove(const std::string& check_id);

  // The file that holds the key of a check between nodes while it runs, in hex.
  std::string KeyFileOf(const std::string& check_id) const;
  absl::Status PutKey(const std::string& check_id, absl::string_view key);
  absl::Status RemoveKey(const std::string& check_id);

 private:
  std::string PathOf(const std::string& check_id) const;

  const std::string directory_;
  sys::FileSystem& files_;
};

}  // namespace muster::agent
