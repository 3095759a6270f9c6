// The suites that let nodes into service.
#pragma once

#include <map>
#include <string>

namespace muster::cli {

// The hint that is printed when nodes passed `suite`, a suite of `site` (path → content), without
// being put into service by it: it names the suites that would admit them. Empty when this suite
// does, or when its text cannot be read, which the controller has reported by then.
std::string AdmissionHint(const std::map<std::string, std::string>& site, const std::string& suite,
                          const std::string& nodes);

}  // namespace muster::cli
