// GPU models that the fake can simulate: figures of the vendor's data sheets, rounded as drivers
// show them.
#pragma once

#include <cstddef>

namespace muster::fake_nvidia {

struct Preset {
  const char* key;   // in the file that drives the fake
  const char* name;  // the driver's name of it
  int major, minor;  // compute capability
  int multiprocessors;
  size_t memory_mib;
  unsigned sm_clock_mhz, memory_clock_mhz;  // maximum
  unsigned memory_bus_bits;
  unsigned power_limit_watts;
  unsigned pcie_generation;
  unsigned nvlinks;  // of the card, bridged or not
  bool data_centre;  // NVLinks up, peer access, ECC, serial number
  bool remaps_rows;  // Ampere and later; older ones retire pages
  const char* vbios;
};

// nullptr: there is no such model.
const Preset* FindPreset(const char* key);

}  // namespace muster::fake_nvidia
