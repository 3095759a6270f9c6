// Output of a BMC's tool and the kernel's power meters: any bytes end as watts or as none.
#include <cstdint>
#include <cstdlib>

#include "agent/burnin/power/power_meter.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(burnin_power, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::optional<double> watts :
       {muster::burnin::ParseDcmiPower(text), muster::burnin::ParseMicrowatts(text)}) {
    if (watts.has_value() && !(*watts > 0 && *watts <= 100'000)) std::abort();
  }
  return 0;
}
