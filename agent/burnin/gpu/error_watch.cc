#include "agent/burnin/gpu/error_watch.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/bounded.h"
#include "agent/burnin/gpu/gpu_work.h"
#include "agent/burnin/gpu/links.h"
#include "agent/burnin/system/kernel_log.h"
#include "agent/burnin/tool.h"
#include "common/base/clock.h"

namespace muster::burnin {
namespace {

constexpr absl::Duration kCountersTimeout = absl::Seconds(20);
constexpr absl::Duration kLogTimeout = absl::Seconds(20);

// A link repeats a damaged packet by itself. DCGM's diagnostics tolerate 80 replays of PCIe in runs
// of minutes, and 100 checksum errors of NVLinks in a second; in longer runs as many replays a
// minute are tolerated as health tolerates by default (pcie_replay.per_minute), and of NVLink as
// many as it does in a day (nvlink_replay.per_day).
constexpr Tolerance kToleratedPcieReplays = {.in_all = 80, .per_second = 8.0 / 60};
constexpr Tolerance kToleratedNvlinkReplays = {.in_all = 100};
constexpr Tolerance kToleratedCrcErrors = {.in_all = 100, .per_second = 100};

constexpr Tolerance kNone = {};

// The driver tells of a program that ended, ours or another one.
constexpr int kEndedPrograms[] = {43, 45};

template <typename T>
std::optional<double> Told(const absl::StatusOr<T>& value) {
  return value.ok() ? std::optional<double>(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> Remapped(const NvmlDevice& device) {
  const absl::StatusOr<NvmlDevice::RemappedRows> rows = device.Remapped();
  if (!rows.ok()) return std::nullopt;
  return rows->corrected + rows->uncorrected;
}

std::optional<double> Retired(const NvmlDevice& device) {
  const absl::StatusOr<unsigned> single = device.RetiredPages(nvml::kMultipleSingleBit);
  const absl::StatusOr<unsigned> twice = device.RetiredPages(nvml::kDoubleBit);
  if (!single.ok() || !twice.ok()) return std::nullopt;
  return *single + *twice;
}

template <nvml::LinkErrorCounter counter>
std::optional<double> Link(const NvmlDevice& device) {
  const absl::StatusOr<std::vector<bool>> links = ReadLinks(device);
  return links.ok() ? Told(SumOfLinks(device, links->size(), counter)) : std::nullopt;
}

constexpr ErrorCounter kCounters[] = {
    {"ecc_uncorrected", "ecc_uncorrected", kNone, "uncorrectable errors of its memory",
     "reset the GPU (nvidia-smi -r)",
     [](const NvmlDevice& gpu) {
       return Told(gpu.EccErrors(nvml::kUncorrected, nvml::kVolatileEcc));
     }},
    {"ecc_corrected", "errors_under_load", kNone, "corrected errors of its memory",
     "run gpu-memory; if they come again, replace the GPU",
     [](const NvmlDevice& gpu) {
       return Told(gpu.EccErrors(nvml::kCorrected, nvml::kVolatileEcc));
     }},
    {"remapped_rows", "errors_under_load", kNone, "rows of its memory that were replaced",
     "reset the GPU (nvidia-smi -r) and run gpu-memory", &Remapped},
    {"retired_pages", "errors_under_load", kNone, "pages of its memory that were retired",
     "reset the GPU (nvidia-smi -r) and run gpu-memory", &Retired},
    {"pcie_replays", "errors_under_load", kToleratedPcieReplays,
     "PCIe packets that were sent again", "reseat the card, check the riser",
     [](const NvmlDevice& gpu) { return Told(gpu.PcieReplays()); }},
    {"nvlink_recovery", "errors_under_load", kNone, "recoveries of NVLinks",
     "check the bridge or the baseboard", &Link<nvml::kLinkRecovery>},
    {"nvlink_replay", "errors_under_load", kToleratedNvlinkReplays,
     "NVLink packets that were sent again", "check the bridge or the baseboard",
     &Link<nvml::kLinkReplay>},
    {"nvlink_crc_flit", "errors_under_load", kToleratedCrcErrors, "checksum errors of NVLinks",
     "check the bridge or the baseboard", &Link<nvml::kLinkCrcFlit>},
    {"nvlink_crc_data", "errors_under_load", kToleratedCrcErrors,
     "checksum errors of data on NVLinks", "check the bridge or the baseboard",
     &Link<nvml::kLinkCrcData>},
};

// Calls `take` for each line of the kernel's log. False: it cannot be read, as by a user other than
// root; machine-errors says so.
bool ReadLog(CheckContext& context, const sys::LineCallback& take) {
  const auto dmesg = RunTool(context, {"dmesg"}, kLogTimeout, "util-linux", {.on_line = take});
  return dmesg.ok() && dmesg->ok();
}

}  // namespace

absl::Span<const ErrorCounter> ErrorCounters() { return kCounters; }

void JudgeNewErrors(const Gpu& gpu, const ErrorCounts& before, const ErrorCounts& after,
                    absl::Duration between, CheckResult& result) {
  std::vector<std::string> lacking;
  for (size_t i = 0; i < std::size(kCounters); ++i) {
    const ErrorCounter& counter = kCounters[i];
    if (!before[i].has_value()) continue;
    if (!after[i].has_value()) {
      lacking.emplace_back(counter.name);
      continue;
    }
    // A driver that was loaded anew counts from 0.
    const double grown = *after[i] >= *before[i] ? *after[i] - *before[i] : *after[i];
    AddMetric(result, "new_errors", counter.name, gpu.uuid, grown);
    const Tolerance& tolerated = counter.tolerated;
    if (grown <= tolerated.in_all ||
        grown <= tolerated.per_second * absl::ToDoubleSeconds(between)) {
      continue;
    }
    AddFault(result, counter.fault, gpu.uuid,
             absl::StrCat(Describe(gpu), ": ", counter.name, " grew by ", grown,
                          " during the check (", counter.what, "): ", counter.remedy));
  }
  if (!lacking.empty())
    AddUnknown(result, absl::StrCat(Describe(gpu), ": after the load these counters of errors ",
                                    "could not be read: ", absl::StrJoin(lacking, ", ")));
}

ErrorWatch::ErrorWatch(CheckContext& context, const Gpus& gpus)
    : context_(context), gpus_(gpus), before_(Read()), began_(context.clock.Now()) {
  ReadLog(context_, [this](absl::string_view line) {
    if (const std::optional<double> at = KernelTimeOf(line)) log_end_ = at;
  });
}

std::optional<std::vector<ErrorCounts>> ErrorWatch::Read() const {
  // The thread may outlive this object: it gets its own reference to the library.
  return RunBounded<std::vector<ErrorCounts>>(context_.clock, kCountersTimeout, [gpus = gpus_] {
    std::vector<ErrorCounts> all;
    for (const Gpu& gpu : gpus.chosen) {
      ErrorCounts counts;
      for (const ErrorCounter& counter : kCounters) counts.push_back(counter.read(gpu.nvml));
      all.push_back(std::move(counts));
    }
    return all;
  });
}

void ErrorWatch::AddXids(CheckResult& result) {
  if (!log_end_.has_value()) return;
  std::vector<std::vector<std::string>> lines(gpus_.chosen.size());
  const bool complete = ReadLog(context_, [&](absl::string_view line) {
    const std::optional<XidLine> xid = ParseXid(line);
    if (!xid.has_value() || xid->at.value_or(0) <= *log_end_) return;
    if (std::find(std::begin(kEndedPrograms), std::end(kEndedPrograms), xid->xid) !=
        std::end(kEndedPrograms))
      return;
    for (size_t i = 0; i < lines.size(); ++i)
      if (absl::StartsWith(gpus_.chosen[i].pci_address, xid->slot)) lines[i].emplace_back(line);
  });
  for (size_t i = 0; complete && i < lines.size(); ++i) {
    const Gpu& gpu = gpus_.chosen[i];
    AddMetric(result, "new_errors", "xid", gpu.uuid, static_cast<double>(lines[i].size()));
    if (lines[i].empty()) continue;
    std::string message =
        absl::StrCat(Describe(gpu), ": during the check the driver logged: ", lines[i].back());
    AddFault(result, "xid", gpu.uuid, std::move(message), std::move(lines[i]));
  }
}

void ErrorWatch::Finish(CheckResult& result) {
  const absl::Duration between = context_.clock.Now() - began_;
  const std::optional<std::vector<ErrorCounts>> after = Read();
  if (before_.has_value() && after.has_value()) {
    for (size_t i = 0; i < gpus_.chosen.size(); ++i)
      JudgeNewErrors(gpus_.chosen[i], (*before_)[i], (*after)[i], between, result);
  } else {
    const bool said = std::any_of(result.faults.begin(), result.faults.end(),
                                  [](const Fault& fault) { return fault.code == "driver_hangs"; });
    if (!said)
      AddFault(result, "driver_hangs", "",
               absl::StrCat("NVML has not answered for ", absl::FormatDuration(kCountersTimeout),
                            " to a query of the counters of errors"));
  }
  AddXids(result);
}

}  // namespace muster::burnin
