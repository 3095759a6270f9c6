// Host memory next to a GPU.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace muster::sys {
class FileSystem;
}

namespace muster::burnin {

// NUMA node of a PCI device, by /sys/bus/pci/devices/<address>/numa_node. nullopt: the machine has
// a single node, or does not say.
std::optional<int> NumaNodeOf(sys::FileSystem& files, const std::string& pci_address);

// While it lives, the calling thread gets new memory from one NUMA node if that has some, and runs
// on its processors. Where the kernel does not allow this, nothing changes.
class NearNode {
 public:
  NearNode(sys::FileSystem& files, std::optional<int> node);
  ~NearNode();
  NearNode(const NearNode&) = delete;
  NearNode& operator=(const NearNode&) = delete;

 private:
  bool bound_ = false;
};

}  // namespace muster::burnin
