// Probes on a copy of a kernel's files.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/health/health_tree.h"

namespace muster::agent::health {

class HealthProbes : public ::testing::Test, protected HealthTree {
 protected:
  void WriteNic(const std::string& name, const std::string& carrier, int ups, int downs) {
    const std::string nic = "/sys/class/net/" + name;
    Write(nic + "/type", "1\n");
    Write(nic + "/flags", "0x1003\n");
    Write(nic + "/carrier", carrier + "\n");
    Write(nic + "/carrier_up_count", std::to_string(ups) + "\n");
    Write(nic + "/carrier_down_count", std::to_string(downs) + "\n");
    Write(nic + "/device/vendor", "0x15b3\n");
  }
};

}  // namespace muster::agent::health
