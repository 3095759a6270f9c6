// Resources whose check has output to show.
#pragma once

#include <string>

namespace muster::agent {

// A resource whose Check() may run programs.
class PrintingCheck {
 public:
  virtual ~PrintingCheck() = default;
  // The output of the programs of the last Check(), bounded; "": there was none.
  virtual const std::string& check_output() const = 0;
};

}  // namespace muster::agent
