// Functions with which verifying kernels write into a Report.
#pragma once

#include "agent/burnin/gpu/kernels/device.h"
#include "agent/burnin/gpu/kernels/report.h"

namespace muster::kernels {

MUSTER_DEVICE void NoteMismatch(Report* report, uint64_t place, uint64_t expected, uint64_t read) {
  AddTo(&report->mismatches, 1);
  const uint64_t record = AddTo(&report->records, 1);
  if (record >= Report::kMaxRecords) return;
  report->first[record].place = place;
  report->first[record].expected = expected;
  report->first[record].read = read;
}

}  // namespace muster::kernels
