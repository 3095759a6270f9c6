// The source of the node's facts for the session.
#pragma once

#include "muster/v1/facts.pb.h"

namespace muster::agent {

class FactsSource {
 public:
  virtual ~FactsSource() = default;
  // May block for seconds; called by one thread of the session. `with_packages`: as of
  // v1::GatherFacts.
  virtual v1::Facts Gather(bool with_packages) = 0;
};

}  // namespace muster::agent
