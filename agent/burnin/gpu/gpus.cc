#include "agent/burnin/gpu/gpus.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/burnin/bounded.h"
#include "agent/burnin/gpu/gpu_choice.h"
#include "agent/burnin/gpu/other_work.h"
#include "agent/burnin/gpu/pci_slots.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

// A healthy driver without persistence takes a few seconds for each GPU.
constexpr absl::Duration kAnswerTimeout = absl::Seconds(60);

struct Loaded {
  std::shared_ptr<const Nvml> nvml;
  std::string driver_version;
  std::vector<std::optional<Gpu>> gpus;           // by index; nullopt: not reachable
  std::vector<std::string> errors;                // of those
  std::vector<Subject> subjects;                  // as gpus
  std::vector<absl::StatusOr<OtherWork>> others;  // as gpus
  std::vector<std::string> refusals;              // as gpus; "": it may be loaded
};

void AddAttribute(Subject& subject, const char* name, const absl::StatusOr<std::string>& value) {
  if (value.ok()) subject.attributes[name] = *value;
}

Subject SubjectOf(const Gpu& gpu, const std::string& driver_version) {
  Subject subject = {.id = gpu.uuid,
                     .kind = "gpu",
                     .model = gpu.name,
                     .slot = gpu.pci_address,
                     .index = gpu.index};
  AddAttribute(subject, "serial", gpu.nvml.Serial());
  AddAttribute(subject, "vbios_version", gpu.nvml.Vbios());
  subject.attributes["driver_version"] = driver_version;
  if (const absl::StatusOr<double> watts = gpu.nvml.PowerLimitWatts(); watts.ok())
    subject.attributes["power_limit_watts"] = absl::StrCat(*watts);
  if (const auto mig = gpu.nvml.Mig(); mig.ok())
    subject.attributes["mig_mode"] = mig->current ? "on" : "off";
  if (const auto mode = gpu.nvml.ComputeMode(); mode.ok())
    subject.attributes["compute_mode"] = ComputeModeName(*mode);
  return subject;
}

// True if the GPU has a mode that cannot be read: neither one without such modes nor one that is
// lost.
template <typename T>
bool IsHidden(const absl::StatusOr<T>& mode) {
  return !mode.ok() && !absl::IsUnimplemented(mode.status()) && !absl::IsDataLoss(mode.status());
}

// Why nothing can work on the whole of that GPU; "": something can. Forcing would not help: CUDA
// shows the first slice of a GPU in MIG mode in place of the GPU, and nothing of one that is
// prohibited.
std::string ModeRefusal(const Gpu& gpu) {
  const auto mig = gpu.nvml.Mig();
  const auto mode = gpu.nvml.ComputeMode();
  const std::string name = absl::StrCat("GPU ", gpu.index, " (", gpu.uuid, ")");
  if (mig.ok() && mig->current)
    return absl::StrCat(name, " is in MIG mode, and only whole GPUs are tested: turn it off ",
                        "(nvidia-smi -i ", gpu.index, " -mig 0)");
  if (mode.ok() && *mode == nvml::kComputeProhibited)
    return absl::StrCat(name, " is in compute mode 'prohibited': allow programs (nvidia-smi -i ",
                        gpu.index, " -c DEFAULT)");
  if (IsHidden(mig))
    return absl::StrCat("it is unknown whether ", name, " is in MIG mode (", mig.status().message(),
                        ")");
  if (IsHidden(mode))
    return absl::StrCat("the compute mode of ", name, " is unknown (", mode.status().message(),
                        ")");
  return "";
}

absl::StatusOr<Gpu> LoadGpu(const Nvml& nvml, unsigned index) {
  ASSIGN_OR_RETURN(const nvml::Device handle, nvml.DeviceAt(index));
  Gpu gpu = {.index = index, .nvml = NvmlDevice(nvml, handle)};
  ASSIGN_OR_RETURN(gpu.uuid, gpu.nvml.Uuid());
  ASSIGN_OR_RETURN(gpu.name, gpu.nvml.Name());
  ASSIGN_OR_RETURN(gpu.pci_address, gpu.nvml.PciAddress());
  gpu.heat_limit = DriverHeatLimit(gpu.nvml);
  gpu.thermal_limits = ReadThermalLimits(gpu.nvml);
  gpu.clock_limits = ReadClockLimits(gpu.nvml);
  return gpu;
}

absl::StatusOr<Loaded> Load() {
  Loaded loaded;
  ASSIGN_OR_RETURN(loaded.nvml, Nvml::Load());
  ASSIGN_OR_RETURN(loaded.driver_version, loaded.nvml->DriverVersion());
  ASSIGN_OR_RETURN(const unsigned count, loaded.nvml->DeviceCount());
  for (unsigned i = 0; i < count; ++i) {
    absl::StatusOr<Gpu> gpu = LoadGpu(*loaded.nvml, i);
    loaded.errors.emplace_back(gpu.ok() ? "" : gpu.status().message());
    loaded.subjects.push_back(gpu.ok() ? SubjectOf(*gpu, loaded.driver_version) : Subject{});
    loaded.others.push_back(gpu.ok() ? ReadOtherWork(gpu->nvml) : OtherWork());
    loaded.refusals.push_back(gpu.ok() ? ModeRefusal(*gpu) : "");
    loaded.gpus.push_back(gpu.ok() ? std::optional<Gpu>(*std::move(gpu)) : std::nullopt);
  }
  return loaded;
}

std::string NameOf(sys::FileSystem& files, unsigned pid) {
  const absl::StatusOr<std::string> name = files.Read(absl::StrCat("/proc/", pid, "/comm"));
  return absl::StrCat(
      name.ok() ? absl::StripAsciiWhitespace(*name) : "a process in another namespace", " (", pid,
      ")");
}

std::string NamesOf(sys::FileSystem& files, const std::vector<unsigned>& pids) {
  std::vector<std::string> names;
  for (const unsigned pid : pids) names.push_back(NameOf(files, pid));
  return absl::StrJoin(names, ", ");
}

absl::Status RefuseWhenBusy(sys::FileSystem& files, const Loaded& loaded,
                            const std::vector<unsigned>& chosen) {
  std::vector<std::string> busy;
  for (const unsigned index : chosen) {
    const absl::StatusOr<OtherWork>& others = loaded.others[index];
    if (!others.ok())
      busy.push_back(absl::StrCat("it is unknown whether GPU ", index, " is used by others (",
                                  others.status().message(), ")"));
    else if (!others->working.empty())
      busy.push_back(absl::StrCat("GPU ", index, " is used by ", NamesOf(files, others->working)));
  }
  if (busy.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      absl::StrJoin(busy, "; "), ": wait until they have ended, or force the check (--force)"));
}

absl::Status RefuseModes(const Loaded& loaded, const std::vector<unsigned>& chosen) {
  std::vector<std::string> refused;
  for (const unsigned index : chosen)
    if (!loaded.refusals[index].empty()) refused.push_back(loaded.refusals[index]);
  if (refused.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(absl::StrJoin(refused, "; "), "; or choose the others (--gpus)"));
}

// A sentence for a person who simply has no driver on this machine.
std::string Reason(const absl::Status& status, sys::FileSystem& files) {
  const absl::StatusOr<std::vector<std::string>> slots = GpuSlots(files);
  if (slots.ok() && !slots->empty())
    return absl::StrCat("no working driver for ", Counted(slots->size(), "NVIDIA card"), " at ",
                        absl::StrJoin(*slots, ", "), ": ", status.message(),
                        absl::IsNotFound(status)
                            ? ", and reboot"
                            : "; install the driver, or reboot after its installation",
                        "; if the cards are not to be used, write gpu_count: 0 into the inventory");
  if (slots.ok() && absl::IsFailedPrecondition(status))
    return absl::StrCat(
        "the driver's library does not work, and there is no NVIDIA card on the PCI ",
        "bus: ", status.message());
  if (absl::IsNotFound(status))
    return absl::StrCat("there is no NVIDIA driver: ", status.message());
  return std::string(status.message());
}

absl::StatusOr<Gpus> Open(CheckContext& context, CheckResult& result, bool only_read) {
  std::optional<absl::StatusOr<Loaded>> answer =
      RunBounded<absl::StatusOr<Loaded>>(context.clock, kAnswerTimeout, Load);
  if (!answer.has_value()) {
    AddFault(result, "driver_hangs", "",
             absl::StrCat("the NVIDIA driver has not answered for ",
                          absl::FormatDuration(kAnswerTimeout)));
    return absl::DeadlineExceededError("the NVIDIA driver does not answer");
  }
  if (!answer->ok())
    return absl::Status(answer->status().code(), Reason(answer->status(), context.files));
  const Loaded& loaded = **answer;
  if (loaded.gpus.empty() && only_read)
    return Gpus{.nvml = loaded.nvml, .driver_version = loaded.driver_version};
  if (loaded.gpus.empty()) return absl::NotFoundError(SeesNoGpu(context.files));
  std::vector<std::string> uuids;
  for (const std::optional<Gpu>& gpu : loaded.gpus) uuids.push_back(gpu ? gpu->uuid : "");
  ASSIGN_OR_RETURN(const std::vector<unsigned> chosen,
                   ChooseGpus(context.parameters.Words("gpus"), uuids));
  if (!only_read) RETURN_IF_ERROR(RefuseModes(loaded, chosen));
  if (!only_read && !context.force) RETURN_IF_ERROR(RefuseWhenBusy(context.files, loaded, chosen));
  Gpus gpus = {.nvml = loaded.nvml,
               .driver_version = loaded.driver_version,
               .count = static_cast<unsigned>(loaded.gpus.size())};
  for (const unsigned index : chosen) {
    if (!loaded.gpus[index].has_value()) {
      AddFault(result, "gpu_lost", "",
               absl::StrCat("GPU ", index, " does not respond: ", loaded.errors[index]));
      continue;
    }
    gpus.chosen.push_back(*loaded.gpus[index]);
    Subject subject = loaded.subjects[index];
    const absl::StatusOr<OtherWork>& others = loaded.others[index];
    if (others.ok() && !others->displays.empty())
      subject.attributes["displays"] = NamesOf(context.files, others->displays);
    result.subjects.push_back(std::move(subject));
  }
  if (gpus.chosen.empty()) return absl::NotFoundError("no GPU is left to test");
  return gpus;
}

}  // namespace

absl::StatusOr<Gpus> OpenGpus(CheckContext& context, CheckResult& result) {
  return Open(context, result, /*only_read=*/false);
}

absl::StatusOr<Gpus> OpenGpusToRead(CheckContext& context, CheckResult& result) {
  return Open(context, result, /*only_read=*/true);
}

}  // namespace muster::burnin
