// Which suites let nodes into service.
#pragma once

#include <map>
#include <string>

namespace muster::cli {

// What is said when nodes passed `suite`, one of the site (path → content), and are none the more
// in service for it: which suite would let them in. Empty: this one does, or its text cannot be
// read, which the controller has told by then.
std::string AdmissionHint(const std::map<std::string, std::string>& site, const std::string& suite,
                          const std::string& nodes);

}  // namespace muster::cli
