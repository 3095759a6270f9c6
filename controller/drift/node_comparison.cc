#include "controller/drift/node_comparison.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "muster/v1/drift.pb.h"
#include "muster/v1/facts.pb.h"

namespace muster::controller::drift {
namespace {

constexpr size_t kShownOfDigest = 12;

// Kernel arguments that name the node's own disks, files and addresses.
constexpr absl::string_view kOwnArguments[] = {
    "BOOT_IMAGE=",       "BOOTIF=",       "initrd=",       "ip=",
    "ifname=",           "rd.luks.uuid=", "rd.luks.name=", "rd.lvm.lv=",
    "rd.lvm.vg=",        "rd.md.uuid=",   "resume=",       "root=",
    "roothash=",         "nfsroot=",      "ostree=",       "systemd.machine_id=",
    "systemd.hostname=",
};

// "2 × A, 1 × B", by name.
std::string Counted(const std::vector<std::string>& things) {
  std::map<std::string, int> counts;
  for (const std::string& thing : things) ++counts[thing];
  return absl::StrJoin(counts, ", ", [](std::string* out, const auto& count) {
    absl::StrAppend(out, count.second, " × ", count.first);
  });
}

std::string OsTrait(const v1::Facts& facts) { return facts.os().pretty_name(); }
std::string KernelTrait(const v1::Facts& facts) { return facts.os().kernel(); }
std::string ArgumentsTrait(const v1::Facts& facts) {
  return ComparableKernelArguments(facts.os().kernel_arguments());
}
std::string BiosTrait(const v1::Facts& facts) {
  const v1::MachineFacts& machine = facts.machine();
  if (machine.bios_version().empty() || machine.bios_date().empty())
    return absl::StrCat(machine.bios_version(), machine.bios_date());
  return absl::StrCat(machine.bios_version(), " (", machine.bios_date(), ")");
}
std::string MicrocodeTrait(const v1::Facts& facts) { return facts.machine().microcode(); }

std::string ProcessorsTrait(const v1::Facts& facts) {
  if (!facts.has_cpu()) return "";
  const v1::CpuFacts& cpu = facts.cpu();
  return absl::StrCat(cpu.sockets(), " × ", cpu.cores_per_socket(), " cores, ",
                      cpu.threads_per_core(), " threads, ", cpu.numa_nodes(),
                      " NUMA nodes: ", cpu.model());
}

// The firmware takes some megabytes for itself, not always as many.
std::string MemoryTrait(const v1::Facts& facts) {
  if (!facts.has_memory()) return "";
  return absl::StrCat((facts.memory().total_mib() + 512) / 1024, " GiB");
}

// One probe tells of the GPUs and their driver: a node without the probe's answer tells nothing.
bool TellsOf(const v1::Facts& facts, absl::string_view probe) {
  return std::none_of(facts.unknown().begin(), facts.unknown().end(),
                      [&](const v1::UnknownFact& unknown) { return unknown.probe() == probe; });
}

std::string GpusTrait(const v1::Facts& facts) {
  if (!TellsOf(facts, "gpus")) return "";
  std::vector<std::string> gpus;
  for (const v1::GpuFacts& gpu : facts.gpus()) gpus.push_back(gpu.name());
  return gpus.empty() ? "none" : Counted(gpus);
}

std::string VbiosTrait(const v1::Facts& facts) {
  std::vector<std::string> versions;
  for (const v1::GpuFacts& gpu : facts.gpus()) {
    if (!gpu.vbios_version().empty()) versions.push_back(gpu.vbios_version());
  }
  return Counted(versions);
}

std::string PowerTrait(const v1::Facts& facts) {
  std::vector<std::string> limits;
  for (const v1::GpuFacts& gpu : facts.gpus()) {
    if (gpu.power_limit_watts() > 0) limits.push_back(absl::StrCat(gpu.power_limit_watts(), " W"));
  }
  return Counted(limits);
}

std::string DriverTrait(const v1::Facts& facts) { return facts.nvidia_driver_version(); }

std::string DisksTrait(const v1::Facts& facts) {
  std::vector<std::string> disks;
  for (const v1::DiskFacts& disk : facts.disks()) {
    disks.push_back(absl::StrCat(disk.model().empty() ? "disk" : disk.model(),
                                 disk.firmware().empty() ? "" : " ", disk.firmware()));
  }
  return Counted(disks);
}

std::string NicsTrait(const v1::Facts& facts) {
  std::vector<std::string> nics;
  for (const v1::NicFacts& nic : facts.nics()) {
    if (nic.pci_address().empty()) continue;
    nics.push_back(absl::StrCat(nic.driver(), nic.firmware().empty() ? "" : " ", nic.firmware()));
  }
  return Counted(nics);
}

std::string SlurmTrait(const v1::Facts& facts) { return facts.slurm().version(); }

std::string PackagesTrait(const v1::Facts& facts) {
  if (!facts.has_packages()) return "";
  return absl::StrCat(facts.packages().count(), " packages, ",
                      facts.packages().digest().substr(0, kShownOfDigest));
}

// In the order in which they are shown. "": the node does not tell.
struct TraitRow {
  absl::string_view name;
  std::string (*value)(const v1::Facts& facts);
};
constexpr TraitRow kTraits[] = {
    {"operating system", OsTrait},
    {"kernel", KernelTrait},
    {"kernel arguments", ArgumentsTrait},
    {"BIOS", BiosTrait},
    {"microcode", MicrocodeTrait},
    {"processors", ProcessorsTrait},
    {"memory", MemoryTrait},
    {"GPUs", GpusTrait},
    {"VBIOS of the GPUs", VbiosTrait},
    {"power limits of the GPUs", PowerTrait},
    {"NVIDIA driver", DriverTrait},
    {"disks", DisksTrait},
    {"network cards", NicsTrait},
    {"Slurm", SlurmTrait},
    {kPackagesTrait, PackagesTrait},
};

std::string MachineOf(const v1::Facts& facts) {
  const std::string name = absl::StrCat(facts.machine().vendor(), " ", facts.machine().product());
  const absl::string_view machine = absl::StripAsciiWhitespace(name);
  return machine.empty() ? facts.cpu().model() : std::string(machine);
}

}  // namespace

std::string ComparableKernelArguments(absl::string_view arguments) {
  std::vector<absl::string_view> words = absl::StrSplit(arguments, ' ', absl::SkipEmpty());
  words.erase(
      std::remove_if(words.begin(), words.end(),
                     [](absl::string_view word) {
                       return std::any_of(
                           std::begin(kOwnArguments), std::end(kOwnArguments),
                           [&](absl::string_view own) { return absl::StartsWith(word, own); });
                     }),
      words.end());
  return absl::StrJoin(words, " ");
}

void NodeComparison::Add(const std::string& name, absl::string_view role, const v1::Facts& facts) {
  std::pair<std::string, std::string> key(role, MachineOf(facts));
  const auto [at, is_new] = by_key_.try_emplace(key, classes_.size());
  if (is_new) {
    Class& added = classes_.emplace_back();
    added.key = std::move(key);
    added.traits.resize(std::size(kTraits));
  }
  Class& one = classes_[at->second];
  one.nodes.push_back(name);
  for (size_t i = 0; i < std::size(kTraits); ++i)
    one.traits[i][kTraits[i].value(facts)].push_back(name);
}

void NodeComparison::Finish(v1::CompareNodesResponse& response) {
  for (Class& one : classes_) {
    v1::NodeClass& shown = *response.add_classes();
    shown.set_role(one.key.first);
    shown.set_machine(one.key.second);
    shown.mutable_nodes()->Assign(one.nodes.begin(), one.nodes.end());
    for (size_t i = 0; i < std::size(kTraits); ++i) {
      auto& values = one.traits[i];
      if (values.size() == 1 && values.begin()->first.empty()) continue;  // nobody tells
      v1::NodeTrait& trait = *shown.add_traits();
      trait.set_name(std::string(kTraits[i].name));
      for (auto& [value, nodes] : values) {
        v1::TraitValue& each = *trait.add_values();
        each.set_value(value.empty() ? std::string(kUnknownTrait) : value);
        // What all have in common needs no list: of thousands of nodes it would be most of the
        // answer.
        if (values.size() > 1) each.mutable_nodes()->Assign(nodes.begin(), nodes.end());
      }
      std::stable_sort(trait.mutable_values()->begin(), trait.mutable_values()->end(),
                       [](const v1::TraitValue& a, const v1::TraitValue& b) {
                         return a.nodes_size() > b.nodes_size();
                       });
    }
  }
  response.mutable_without_facts()->Assign(without_facts_.begin(), without_facts_.end());
}

}  // namespace muster::controller::drift
