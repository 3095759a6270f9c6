// Output of stress-ng, fio, chronyc, Slurm and the kernel: any bytes end as an error or as numbers.
#include <cstdint>

#include "absl/strings/str_split.h"
#include "agent/burnin/system/clock_check.h"
#include "agent/burnin/system/disk.h"
#include "agent/burnin/system/file_systems.h"
#include "agent/burnin/system/kernel_log.h"
#include "agent/burnin/system/machine_errors.h"
#include "agent/burnin/system/slurm_view.h"
#include "agent/burnin/system/stress.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(burnin_tools, data, size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  (void)muster::burnin::ParseTracking(text);
  (void)muster::burnin::ParseFio(text, "read");
  (void)muster::burnin::ParseMounts(text);
  (void)muster::burnin::StressRate(text, "cpu");
  (void)muster::burnin::StressFailures(text);
  (void)muster::burnin::CountMachineChecks(text);
  (void)muster::burnin::StressOomKills(text);
  muster::burnin::KernelLogReader log;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) log.Take(line);
  const auto machine = muster::burnin::ParseSlurmdLine(text);
  const auto node = muster::burnin::ParseSlurmNodeLine(text);
  if (node.ok()) {
    (void)muster::burnin::StatesOutOfService(node->state);
    (void)muster::burnin::CompareWithSlurm(
        *node, machine.ok() ? machine->hardware : muster::burnin::SlurmHardware(), 1);
  }
  return 0;
}
