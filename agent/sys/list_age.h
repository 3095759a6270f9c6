// When the lists of the package repositories were fetched.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/base/clock.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// A stamp of our own: the package managers' caches carry the servers' times.
class ListAge {
 public:
  // The repositories are named in `sources_file` and in the files of `sources_folder`.
  ListAge(sys::FileSystem& files, Clock& clock, std::string stamp, std::string sources_file,
          std::string sources_folder);

  // True when the lists were not fetched within `max_age`, or a repository file changed since.
  bool IsOver(absl::Duration max_age);
  // The lists were fetched; `started` is the time before, because a repository file may have been
  // written meanwhile.
  absl::Status Record(absl::Time started);

 private:
  // InfinitePast: never, or at a time in the future, because the clock was set back since.
  absl::Time FetchedAt();

  sys::FileSystem& files_;
  Clock& clock_;
  const std::string stamp_, sources_file_, sources_folder_;
};

}  // namespace muster::agent
