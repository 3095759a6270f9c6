// Resources that have something to show of their check.
#pragma once

#include <string>

namespace muster::agent {

// A resource whose Check() may run programs.
class PrintingCheck {
 public:
  virtual ~PrintingCheck() = default;
  // What the programs of the last Check() printed, bounded; "": there were none.
  virtual const std::string& check_output() const = 0;
};

}  // namespace muster::agent
