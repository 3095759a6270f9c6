#include "common/sys/boot_id.h"

#include "absl/strings/ascii.h"
#include "common/base/status.h"
#include "common/sys/file_system.h"

namespace muster::sys {

absl::StatusOr<std::string> ReadBootId(FileSystem& files) {
  ASSIGN_OR_RETURN(std::string id, files.Read("/proc/sys/kernel/random/boot_id"));
  absl::StripAsciiWhitespace(&id);
  return id;
}

}  // namespace muster::sys
