// A worker that prints anything at all: only whole results count, and whatever is concluded can be
// sent to the controller.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_split.h"
#include "agent/validation/worker_output.h"
#include "tests/fuzz/fuzz_target.h"

FUZZ_TARGET(worker_output, data, size) {
  using muster::agent::WorkerOutput;
  if (size == 0) return 0;
  muster::agent::WorkerEnd end;
  end.exit_code = data[0] & 3;
  end.signal = (data[0] >> 2) & 15;
  end.timed_out = (data[0] >> 6) & 1;
  end.unkillable = (data[0] >> 7) & 1;
  WorkerOutput output("gpu-gemm");
  bool broken = false;
  for (const absl::string_view line :
       absl::StrSplit(absl::string_view(reinterpret_cast<const char*>(data) + 1, size - 1), '\n')) {
    const auto progress = output.Take(line);
    if (broken && progress.ok()) std::abort();
    broken = !progress.ok();
    output.TakeError(line);
  }
  const muster::v1::CheckResult result = output.Conclude(end);
  if (result.check() != "gpu-gemm") std::abort();
  if (result.outcome() == muster::v1::OUTCOME_UNSPECIFIED) std::abort();
  if (result.outcome() == muster::v1::OUTCOME_PASS &&
      (broken || end.signal != 0 || end.timed_out || end.exit_code != 0 || end.unkillable))
    std::abort();
  muster::v1::CheckResult again;
  if (!again.ParseFromString(result.SerializeAsString())) std::abort();
  return 0;
}
