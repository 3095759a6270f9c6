// Floors that are put into any text of a hardware file give a hardware file with these floors, and
// putting them in again changes nothing.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/checks/catalog.h"
#include "controller/validation/suite/hardware.h"
#include "controller/validation/suite/hardware_text.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(hardware_text, data, size) {
  using namespace muster::controller::validation;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string path = "inventory/hardware/h.yaml";
  const Catalog catalog = muster::checks::Checks();
  const std::vector<FloorEntry> entries = {
      {"gpu-gemm", "tflops_median", "fp16", "TFLOPS", 30, 100, "measured: \"a\" # b", "a guess"},
      {"gpu-memory", "memory_gbytes_per_s", "", "GB/s", 200, 300, "measured", "a guess"},
      {"nic-pair", "send_gbits", "x\ny", "Gbit/s", 9, 10, "measured", "a guess"},
  };
  const auto changed = WithFloors(path, text, entries, catalog);
  if (!changed.ok()) return 0;
  const auto library = ParseHardware({{path, *changed}}, catalog);
  if (!library.ok() || library->models().size() != 1) std::abort();
  size_t there = 0;
  for (const HardwareLimit& limit : library->models()[0].limits) {
    for (const FloorEntry& entry : entries) {
      there += limit.check == entry.check && limit.metric == entry.metric &&
               limit.variant == entry.variant && limit.floor == entry.floor;
    }
  }
  if (there != entries.size()) std::abort();
  if (HardwareDiff(path, text, *changed).empty() && text != *changed) std::abort();
  // Existing floors are not a change.
  const auto again = WithFloors(path, *changed, {}, catalog);
  if (!again.ok() || *again != *changed) std::abort();
  return 0;
}
