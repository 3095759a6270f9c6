// Output and files of apt and dpkg, cut and damaged in every way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "agent/sys/apt/apt_output.h"
#include "agent/sys/apt/dpkg_status.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(apt_output, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto progress = muster::agent::ParseAptProgress(text))
    if (!(progress->percent >= 0 && progress->percent <= 100)) std::abort();
  (void)muster::agent::ParsePolicy(text);
  (void)muster::agent::ParseAptFailure(text);
  (void)muster::agent::ParseSimulation(text);
  (void)muster::agent::ParseSecurityVersions(text);
  (void)muster::agent::SumOfSizes(text);
  (void)muster::agent::DpkgStatus::Parse(text).InstalledVersion("munge");
  return 0;
}
