#include "agent/image/root_place.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/sys/package_family.h"
#include "common/base/status.h"

namespace muster::agent {
namespace {

// Not by /proc/self: in a root's user namespace /proc is nobody's, and its links are not followed.
std::string UserMap() { return absl::StrCat("/proc/", ::getpid(), "/uid_map"); }

// Whether every user is mapped to itself, as in the namespace in which a machine starts.
bool IsMachinesOwn(const std::string& map) {
  const std::vector<std::string> words =
      absl::StrSplit(map, absl::ByAnyChar(" \t\n"), absl::SkipEmpty());
  return words == std::vector<std::string>{"0", "0", "4294967295"};
}

}  // namespace

absl::Status CheckIsRoot(sys::FileSystem& files) {
  ASSIGN_OR_RETURN(const auto systemd, files.Stat("/run/systemd/system"));
  if (systemd.has_value())
    return absl::FailedPreconditionError(
        "systemd is running here: this is a node and not the root of an image; `muster apply` "
        "changes nodes");
  ASSIGN_OR_RETURN(const std::string map, files.Read(UserMap()));
  if (IsMachinesOwn(map))
    return absl::FailedPreconditionError(
        "this is a machine and not the root of an image, which has a user namespace of its own; "
        "`muster image build` enters one");
  if (DetectPackageFamily(files) == PackageFamily::kDnf)
    return absl::FailedPreconditionError(
        "the root's packages are dnf's; images are built of distributions with apt: Debian and "
        "Ubuntu");
  return absl::OkStatus();
}

}  // namespace muster::agent
