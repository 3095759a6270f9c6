#include "agent/burnin/gpu/inventory/judge.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "agent/burnin/gpu/clock_reasons.h"
#include "agent/burnin/gpu/links.h"
#include "common/base/text/counted.h"

namespace muster::burnin {
namespace {

// The number of pages that a board can retire: NVIDIA asks to replace it then.
constexpr unsigned kRetiredPagesLimit = 60;

// Collects the judgement of one GPU.
class Judge {
 public:
  Judge(const Gpu& gpu, CheckResult& result) : gpu_(gpu), result_(result) {}

  // False: there is no such reading; the reason is noted.
  template <typename T>
  bool Has(absl::string_view what, const absl::StatusOr<T>& reading) {
    if (reading.ok()) return true;
    if (absl::IsUnimplemented(reading.status())) {
      not_told_.insert(std::string(what));
    } else if (absl::IsDataLoss(reading.status())) {
      lost_ = true;
    } else {
      Unknown(absl::StrCat(what, " could not be read: ", reading.status().message()));
    }
    return false;
  }

  template <typename T>
  bool Add(absl::string_view metric, absl::string_view variant, const absl::StatusOr<T>& reading) {
    const bool variants = !variant.empty();
    if (!Has(variants ? absl::StrCat(metric, ".", variant) : std::string(metric), reading))
      return false;
    Metric(metric, variant, static_cast<double>(*reading));
    return true;
  }

  void Metric(absl::string_view metric, absl::string_view variant, double value) {
    AddMetric(result_, metric, variant, gpu_.uuid, value);
  }
  void Fault(absl::string_view code, absl::string_view message) {
    AddFault(result_, code, gpu_.uuid, absl::StrCat("GPU ", gpu_.index, " ", message));
  }
  void Unknown(absl::string_view message) {
    AddUnknown(result_, absl::StrCat("GPU ", gpu_.index, ": ", message));
  }
  void Attribute(const char* name, std::string value) {
    for (Subject& subject : result_.subjects)
      if (subject.id == gpu_.uuid) subject.attributes[name] = std::move(value);
  }

  void Finish() {
    if (lost_) Fault("gpu_lost", "fell off the bus or must be reset: look for Xid in dmesg");
    if (!not_told_.empty()) Attribute("not_told", absl::StrJoin(not_told_, ", "));
  }

 private:
  const Gpu& gpu_;
  CheckResult& result_;
  std::set<std::string> not_told_;
  bool lost_ = false;
};

void JudgeIdentity(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
                   Judge& judge) {
  // Compared as hardware files compare names: case does not count.
  if (!wanted.model.empty() && !absl::EqualsIgnoreCase(gpu.name, wanted.model))
    judge.Fault("wrong_model", absl::StrCat("is a '", gpu.name, "', not a '", wanted.model, "'"));
  if (judge.Has("vbios_version", reading.vbios) && !wanted.vbios.empty() &&
      std::find(wanted.vbios.begin(), wanted.vbios.end(), *reading.vbios) == wanted.vbios.end())
    judge.Fault("wrong_vbios", absl::StrCat("has video BIOS ", *reading.vbios, ", not ",
                                            absl::StrJoin(wanted.vbios, " or ")));
  judge.Has("serial", reading.serial);
  if (judge.Add("memory_bytes", "", reading.memory_bytes) &&
      *reading.memory_bytes < wanted.memory_bytes.value_or(0))
    judge.Fault("memory_missing",
                absl::StrCat("has ", *reading.memory_bytes, " bytes of memory instead of ",
                             *wanted.memory_bytes));
  if (judge.Add("power_limit_watts", "", reading.power_limit_watts) && wanted.power_limit &&
      *reading.power_limit_watts != *wanted.power_limit)
    judge.Fault("wrong_power_limit", absl::StrCat("may draw ", *reading.power_limit_watts,
                                                  " W, not ", *wanted.power_limit));
  if (judge.Has("persistence_mode", reading.persistence)) {
    const std::string mode = *reading.persistence ? "on" : "off";
    judge.Attribute("persistence_mode", mode);
    if (!wanted.persistence.empty() && mode != wanted.persistence)
      judge.Fault("wrong_persistence",
                  absl::StrCat("has persistence mode ", mode, ", not ", wanted.persistence,
                               ": is the service nvidia-persistenced running?"));
  }
}

// The faults of one property of the link; without load nothing is known of a link.
void JudgeLink(absl::string_view what, const absl::StatusOr<unsigned>& now,
               const absl::StatusOr<unsigned>& possible, const std::optional<double>& wanted,
               Judge& judge) {
  if (!now.ok()) return;
  if (wanted.has_value() && *now < *wanted) {
    judge.Fault("pcie_degraded",
                absl::StrCat("runs at PCIe ", what, " ", *now, " under load instead of ", *wanted,
                             ": reseat it, check the riser"));
  } else if (!wanted.has_value() && possible.ok() && *now < *possible) {
    judge.Fault("pcie_degraded",
                absl::StrCat("runs at PCIe ", what, " ", *now, " under load, but card and slot ",
                             "can do ", *possible, ": reseat it, check the riser; if the slot has ",
                             "no more, write gpu_pcie_", what, ": ", *now, " into the inventory"));
  }
}

void JudgePcie(const GpuReading& reading, const Expectations& wanted, Judge& judge) {
  judge.Add("pcie_replays", "", reading.pcie_replays);
  if (judge.Has("card_pcie_generation", reading.card_pcie_generation))
    judge.Attribute("card_pcie_generation", absl::StrCat(*reading.card_pcie_generation));
  if (judge.Has("max_pcie_generation", reading.max_pcie_generation))
    judge.Attribute("max_pcie_generation", absl::StrCat(*reading.max_pcie_generation));
  if (judge.Has("max_pcie_width", reading.max_pcie_width))
    judge.Attribute("max_pcie_width", absl::StrCat(*reading.max_pcie_width));
  if (!reading.load.ok()) {
    judge.Unknown(absl::StrCat("PCIe generation and width under load are unknown, because nothing ",
                               "could be copied: ", reading.load.message()));
    return;
  }
  judge.Add("pcie_generation", "", reading.pcie_generation);
  judge.Add("pcie_width", "", reading.pcie_width);
  JudgeLink("generation", reading.pcie_generation, reading.max_pcie_generation,
            wanted.pcie_generation, judge);
  JudgeLink("width", reading.pcie_width, reading.max_pcie_width, wanted.pcie_width, judge);
}

// ECC cannot be on for a card without ECC.
void JudgeEccMode(const GpuReading& reading, const std::string& wanted, Judge& judge) {
  const bool has = judge.Has("ecc_mode", reading.ecc);
  if (!has && !absl::IsUnimplemented(reading.ecc.status())) return;
  const std::string mode = has && reading.ecc->current ? "on" : "off";
  if (has) judge.Attribute("ecc", mode);
  if (has && reading.ecc->current != reading.ecc->pending) {
    judge.Fault("ecc_pending", "changes ECC at its next reset: reset it");
  } else if (!wanted.empty() && mode != wanted) {
    judge.Fault("wrong_ecc", absl::StrCat("has ECC ", mode, ", not ", wanted,
                                          has ? ": set it by nvidia-smi -e and reset the GPU"
                                              : ": its model has none"));
  }
}

void JudgeMemory(const GpuReading& reading, const Expectations& wanted, Judge& judge) {
  JudgeEccMode(reading, wanted.ecc, judge);
  judge.Add("ecc_corrected", "", reading.ecc_corrected);
  judge.Add("ecc_uncorrected", "", reading.ecc_uncorrected);
  if (judge.Has("ecc_uncorrected_now", reading.ecc_uncorrected_now) &&
      *reading.ecc_uncorrected_now > 0)
    judge.Fault(
        "ecc_uncorrected",
        absl::StrCat("had ", Counted(*reading.ecc_uncorrected_now, "uncorrectable memory error"),
                     " since the driver was loaded: reset it"));
  if (judge.Has("remapped_rows", reading.remapped)) {
    judge.Metric("remapped_rows", "corrected", reading.remapped->corrected);
    judge.Metric("remapped_rows", "uncorrected", reading.remapped->uncorrected);
    if (reading.remapped->failed)
      judge.Fault("row_remap_failed", "has no spare memory row left: replace it");
    if (reading.remapped->pending)
      judge.Fault("row_remap_pending", "replaces a memory row at its next reset: reset it");
  }
  const bool single = judge.Add("retired_pages", "single_bit", reading.retired_single);
  const bool twice = judge.Add("retired_pages", "double_bit", reading.retired_double);
  if (single && twice && *reading.retired_single + *reading.retired_double >= kRetiredPagesLimit)
    judge.Fault("pages_retired",
                absl::StrCat("has retired ", *reading.retired_single + *reading.retired_double,
                             " memory pages: replace it"));
  if (judge.Has("retirement_pending", reading.retirement_pending) && *reading.retirement_pending)
    judge.Fault("page_retirement_pending", "retires a memory page at its next reset: reset it");
}

void JudgeLinks(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
                Judge& judge) {
  if (judge.Has("nvlinks", reading.links)) {
    const auto up = static_cast<double>(LinksUp(*reading.links));
    judge.Metric("nvlinks_up", "", up);
    const auto missing = static_cast<double>(MissingLinks(gpu.name, *reading.links));
    const double want = wanted.nvlinks.value_or(up + missing);
    if (up < want)
      judge.Fault("nvlink_down", absl::StrCat("has ", up, " NVLinks up instead of ", want));
  } else if (wanted.nvlinks.value_or(0) > 0) {
    judge.Unknown(absl::StrCat("it does not report the ", *wanted.nvlinks, " expected NVLinks"));
  }
  for (const GpuReading::LinkErrors& errors : reading.link_errors)
    judge.Add("nvlink_errors", errors.counter, errors.count);
}

// The fault of each FabricTrouble, in their order.
constexpr const char* kFabricFaults[] = {"fabric_not_ready", "fabric_error", "fabric_unhealthy"};

void JudgePlaceInFabric(const GpuReading& reading, Judge& judge) {
  if (!judge.Has("fabric_state", reading.fabric)) return;
  for (const FabricFault& fault : JudgeFabric(*reading.fabric))
    judge.Fault(kFabricFaults[static_cast<int>(fault.trouble)], fault.message);
}

void JudgeNvlink(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
                 Judge& judge) {
  JudgeLinks(gpu, reading, wanted, judge);
  JudgePlaceInFabric(reading, judge);
}

// Any mode is right here, since sites set them on purpose; the checks that load GPUs refuse some.
void JudgeModes(const GpuReading& reading, Judge& judge) {
  if (judge.Has("mig_mode", reading.mig)) {
    judge.Attribute("mig_mode", reading.mig->current ? "on" : "off");
    if (reading.mig->pending != reading.mig->current)
      judge.Attribute("mig_mode_after_reset", reading.mig->pending ? "on" : "off");
  }
  if (judge.Has("compute_mode", reading.compute_mode))
    judge.Attribute("compute_mode", ComputeModeName(*reading.compute_mode));
}

// gpu-gemm judges how fast a GPU runs under load; its limits show at rest, too.
void JudgeClocks(const GpuReading& reading, Judge& judge) {
  judge.Add("sm_clock_mhz", "", reading.sm_mhz);
  judge.Add("memory_clock_mhz", "", reading.memory_mhz);
  judge.Add("sm_clock_max_mhz", "", reading.max_sm_mhz);
  judge.Add("memory_clock_max_mhz", "", reading.max_memory_mhz);
  if (!judge.Has("application_clock_mhz", reading.application_mhz)) return;
  judge.Attribute("application_clock_mhz", absl::StrCat(*reading.application_mhz));
  if (judge.Has("default_application_clock_mhz", reading.default_application_mhz) &&
      *reading.application_mhz < ClockWatch::kLowestShare * *reading.default_application_mhz)
    judge.Fault("clock_low", absl::StrCat("is set to compute at ", *reading.application_mhz,
                                          " MHz instead of ", *reading.default_application_mhz,
                                          " by default: nvidia-smi -rac resets it"));
}

// A card may still be held at its target temperature after earlier work, below its limit.
bool IsBelowLimit(const Gpu& gpu, const GpuReading& reading) {
  const std::optional<double>& limit = gpu.thermal_limits.gpu_celsius;
  return limit.has_value() && reading.temperature_celsius.ok() &&
         *reading.temperature_celsius < *limit - HeatWatch::kNearLimit;
}

void JudgeThermals(const Gpu& gpu, const GpuReading& reading, Judge& judge) {
  judge.Add("temperature_celsius", "", reading.temperature_celsius);
  if (!judge.Has("clock_reasons", reading.clock_reasons)) return;
  for (const Slowdown& slowdown : kSlowdowns) {
    // One reading says nothing of a slowdown that appears whenever clocks change.
    if (slowdown.in_one_stretch || !IsSlowed(slowdown, *reading.clock_reasons)) continue;
    if (slowdown.at_limit && IsBelowLimit(gpu, reading)) continue;
    judge.Fault(
        slowdown.fault,
        absl::StrCat("is slowed down (", ClockReasonNames(*reading.clock_reasons),
                     ") though it is almost idle: ", slowdown.cause, ": ", slowdown.remedy));
  }
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  Mon …" → "535.261.03". The open
// modules say "… Open Kernel Module for x86_64  535.261.03  Release Build …".
std::string ModuleVersion(absl::string_view proc_version) {
  const std::vector<absl::string_view> lines = absl::StrSplit(proc_version, '\n');
  for (const absl::string_view word :
       absl::StrSplit(lines.front(), absl::ByAnyChar(" \t"), absl::SkipEmpty()))
    if (word.find_first_not_of("0123456789.") == absl::string_view::npos &&
        absl::StrContains(word, "."))
      return std::string(word);
  return "";
}

}  // namespace

Expectations ExpectationsOf(const checks::Parameters& parameters) {
  return {.count = parameters.OptionalNumber("count"),
          .memory_bytes = parameters.OptionalNumber("memory"),
          .pcie_generation = parameters.OptionalNumber("pcie-generation"),
          .pcie_width = parameters.OptionalNumber("pcie-width"),
          .nvlinks = parameters.OptionalNumber("nvlinks"),
          .power_limit = parameters.OptionalNumber("power-limit"),
          .model = parameters.Word("model"),
          .driver = parameters.Word("driver"),
          .ecc = parameters.Word("ecc"),
          .persistence = parameters.Word("persistence"),
          .vbios = parameters.Words("vbios")};
}

void JudgeGpu(const Gpu& gpu, const GpuReading& reading, const Expectations& wanted,
              CheckResult& result) {
  Judge judge(gpu, result);
  JudgeIdentity(gpu, reading, wanted, judge);
  JudgePcie(reading, wanted, judge);
  JudgeMemory(reading, wanted, judge);
  JudgeNvlink(gpu, reading, wanted, judge);
  JudgeModes(reading, judge);
  JudgeClocks(reading, judge);
  JudgeThermals(gpu, reading, judge);
  judge.Finish();
}

void JudgeDriver(const std::string& driver_version, const std::string& proc_version,
                 const Expectations& wanted, CheckResult& result) {
  if (!wanted.driver.empty() && driver_version != wanted.driver)
    AddFault(result, "wrong_driver", "",
             absl::StrCat("the driver is ", driver_version, ", not ", wanted.driver));
  const std::string module = ModuleVersion(proc_version);
  if (!module.empty() && module != driver_version)
    AddFault(result, "driver_mismatch", "",
             absl::StrCat("the driver's library is ", driver_version, " but the kernel module ",
                          module, ": reboot"));
  result.tools.push_back(absl::StrCat("driver ", driver_version, ", kernel module ",
                                      module.empty() ? "unknown" : module));
}

}  // namespace muster::burnin
