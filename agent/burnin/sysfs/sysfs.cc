#include "agent/burnin/sysfs/sysfs.h"

#include "absl/strings/ascii.h"
#include "common/sys/file_system.h"

namespace muster::burnin {

std::string ReadText(sys::FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::string> text = files.Read(path, kPage);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

}  // namespace muster::burnin
