// The hardware that a node was found to have when its validation was created. It is stored with the
// validation: a GPU that falls off the bus meanwhile must not change which checks a restarted
// controller continues with.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster::v1 {
class Facts;
}

namespace muster::controller::validation {

// Zero where nobody has looked.
struct FoundHardware {
  int gpus = 0;
  std::vector<double> gpu_power_limits;  // watts, in force; of all GPUs, or empty
  bool nics = false;
  bool rdma = false;  // InfiniBand; only the inventory knows whether Ethernet is used for RoCE
  // The only network card with a link, if it is an Ethernet card; "": several, or none.
  std::string sole_port;
  bool container = false;
  // The properties that a pass is bound to; all empty: nobody has looked.
  std::string gpu_uuids;  // in their order, separated by blanks
  std::string driver_version;
  std::string kernel;
  // NVIDIA's graphics cards on the PCI bus, whether or not a driver knows them. None in containers,
  // which see the cards of their host.
  int gpu_cards = 0;
};

FoundHardware FoundOn(const v1::Facts& facts);

// The changes in GPUs, driver or kernel from `then` to `now`, for people; "": none, or nobody had
// looked then.
std::string DescribeChange(const FoundHardware& then, const FoundHardware& now);

// The stored form, never "", and back. nullopt: nothing was stored, or it is damaged.
std::string PackFound(const FoundHardware& found);
std::optional<FoundHardware> UnpackFound(const std::string& stored);

}  // namespace muster::controller::validation
