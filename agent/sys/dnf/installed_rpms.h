// What rpm says is installed, and what of it is not finished.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/sys/dnf/rpm_database.h"

namespace muster::sys {
class FileSystem;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::agent {

// Asks again only when the files of rpm's database, or dnf's history, have changed. Thread-safe.
class InstalledRpms {
 public:
  using Database = std::shared_ptr<const RpmDatabase>;

  // The references must outlive the object. `work_folder`: for what dnf's history forgets.
  InstalledRpms(sys::FileSystem& files, sys::ProcessRunner& processes, std::string work_folder);

  // The folder of rpm's database.
  absl::StatusOr<std::string> Folder();
  // Internal: rpm cannot read it.
  absl::StatusOr<Database> Read();
  // Packages that are installed and not finished, as Nevra() → the transaction that installed them.
  std::map<std::string, std::string> Unfinished(const RpmDatabase& database);
  // Keeps what Unfinished() finds: dnf's history says it of the last transaction alone.
  absl::Status RecordUnfinished(const RpmDatabase& database);

 private:
  sys::FileSystem& files_;
  sys::ProcessRunner& processes_;
  const std::string work_folder_;

  absl::Mutex mutex_;
  std::string folder_ ABSL_GUARDED_BY(mutex_);
  Database database_ ABSL_GUARDED_BY(mutex_);
  std::string database_state_ ABSL_GUARDED_BY(mutex_);  // of its files, when it was read
  std::vector<std::string> history_ ABSL_GUARDED_BY(mutex_);
  std::string history_state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace muster::agent
