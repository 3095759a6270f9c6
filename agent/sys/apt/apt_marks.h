// Marks of packages that apt-get removes on its way, kept until they are restored.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/sys/file_system.h"

namespace muster::agent {

struct AptMarks {
  std::vector<std::string> held;          // on hold
  std::vector<std::string> dependencies;  // marked as automatic

  bool empty() const { return held.empty() && dependencies.empty(); }
};

// A file with the marks of the running transaction. apt-get outlives an agent that is restarted
// meanwhile, and the next one finds here what is left to restore.
class AptMarksFile {
 public:
  AptMarksFile(sys::FileSystem& files, std::string folder);

  const std::string& path() const { return path_; }
  // Empty: no transaction has left marks.
  absl::StatusOr<AptMarks> Read();
  absl::Status Write(const AptMarks& marks);
  absl::Status Remove();

 private:
  sys::FileSystem& files_;
  const std::string folder_, path_;
};

}  // namespace muster::agent
