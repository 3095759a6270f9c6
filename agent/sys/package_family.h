// The family of package managers that a node uses.
#pragma once

#include "absl/strings/string_view.h"
#include "agent/sys/package_manager.h"
#include "common/sys/file_system.h"

namespace muster::agent {

// By ID and ID_LIKE of os-release(5); kApt if they name neither family, unless only rpm's database
// is there: nodes may carry the tools of the other family, too.
PackageFamily FamilyOf(absl::string_view os_release, bool has_dpkg, bool has_rpm);
PackageFamily DetectPackageFamily(sys::FileSystem& files);

}  // namespace muster::agent
