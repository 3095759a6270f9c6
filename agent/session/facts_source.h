// The source of the node's facts for the session.
#pragma once

#include "muster/v1/facts.pb.h"

namespace muster::agent {

class FactsSource {
 public:
  virtual ~FactsSource() = default;
  // May block for seconds; called by one thread of the session.
  virtual v1::Facts Gather() = 0;
};

}  // namespace muster::agent
