#include "agent/commands.h"

#include <iostream>

namespace muster::agent {

int ExitStatus(absl::string_view command, const absl::Status& end) {
  if (end.ok()) return 0;
  std::cerr << "muster-agent " << command << ": " << end.message() << std::endl;
  return 1;
}

}  // namespace muster::agent
