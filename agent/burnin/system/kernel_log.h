// What the kernel's log says of hardware: what is broken, and what is not though it reads so.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::burnin {

struct KernelLogFindings {
  std::vector<std::string> broken;  // lines that tell of broken hardware
  size_t corrected = 0;             // lines on errors that the hardware has corrected itself
  size_t application = 0;           // errors on a GPU for which a job's own program is to blame
  std::set<int> unlisted_xids;      // of which this version does not know whose fault they are
};

KernelLogFindings ReadKernelLog(absl::string_view log);

}  // namespace muster::burnin
