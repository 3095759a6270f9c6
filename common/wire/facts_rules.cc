// The rules for facts. Facts end up in slurm.conf, in hosts, on terminals and pages: a field that
// is narrow by nature has a narrow rule, free text is one line.
#include "common/wire/field_rule.h"
#include "common/wire/message_rules.h"

namespace muster::wire {
namespace {

constexpr double kMost16 = 65533;             // Slurm's 16-bit counters, less its special values
constexpr double kMostMib = 1099511627776.0;  // an exbibyte: templates calculate with it
constexpr double kMostBytes = 4611686018427387904.0;
constexpr double kMost32 = 4294967295.0;
constexpr size_t kFactLineBytes = 256;
constexpr size_t kPathBytes = 4096;

constexpr FieldRule kFactsRules[] = {
    Any("Facts.gathered_at"),
    List(64, Any("Facts.unknown")),
    Any("Facts.os"),
    Any("Facts.cpu"),
    Any("Facts.memory"),
    List(1024, Any("Facts.disks")),
    List(2048, Any("Facts.nics")),
    List(2048, Any("Facts.pci_devices")),
    List(256, Any("Facts.gpus")),
    Text("Facts.nvidia_driver_version", Letters::kWord, 64),
    Any("Facts.slurm"),
    List(2048, Any("Facts.mounts")),
    Any("Facts.cgroup"),
    List(8, Any("Facts.ssh_host_keys")),
    Any("Facts.machine"),
    Any("Facts.packages"),
    List(256, Any("Facts.neighbors")),
    Number("Facts.infiniband_ports", 0, kMost16),

    Text("UnknownFact.probe", Letters::kName, 64),
    Text("UnknownFact.reason", Letters::kLine, 1024),

    Text("OsFacts.id", Letters::kWord, 64),
    Text("OsFacts.version_id", Letters::kWord, 64),
    Text("OsFacts.codename", Letters::kWord, 64),
    Text("OsFacts.pretty_name", Letters::kLine, kFactLineBytes),
    Text("OsFacts.kernel", Letters::kWord, 128),
    Text("OsFacts.architecture", Letters::kWord, 64),
    Text("OsFacts.boot_id", Letters::kId, 64),
    Text("OsFacts.hostname", Letters::kHost, 255),
    Text("OsFacts.virtualization", Letters::kWord, 64),
    Text("OsFacts.package_architecture", Letters::kWord, 64),
    Any("OsFacts.booted_at"),
    Text("OsFacts.next_kernel", Letters::kWord, 128),
    Text("OsFacts.kernel_arguments", Letters::kLine, 4096),

    Text("CpuFacts.model", Letters::kLine, kFactLineBytes),
    Number("CpuFacts.cpus", 1, kMost16),
    Number("CpuFacts.boards", 1, kMost16),
    Number("CpuFacts.sockets", 1, kMost16),
    Number("CpuFacts.cores_per_socket", 1, kMost16),
    Number("CpuFacts.threads_per_core", 1, kMost16),
    Number("CpuFacts.numa_nodes", 0, kMost16),

    Number("MemoryFacts.total_mib", 1, kMostMib),
    Number("MemoryFacts.swap_mib", 0, kMostMib),

    Text("DiskFacts.name", Letters::kName, 64),
    Number("DiskFacts.size_bytes", 0, kMostBytes),
    Text("DiskFacts.model", Letters::kLine, kFactLineBytes),
    Text("DiskFacts.serial", Letters::kLine, kFactLineBytes),
    Any("DiskFacts.rotational"),
    Text("DiskFacts.firmware", Letters::kLine, 64),

    Text("NicFacts.name", Letters::kName, 64),
    Text("NicFacts.mac", Letters::kColons, 96),
    Text("NicFacts.kind", Letters::kWord, 32),
    Number("NicFacts.speed_mbits_per_s", 0, kMost32),
    Number("NicFacts.mtu", 0, kMost32),
    Any("NicFacts.up"),
    List(64, Text("NicFacts.addresses", Letters::kAddress, 64)),
    Text("NicFacts.pci_address", Letters::kColons, 32),
    Text("NicFacts.driver", Letters::kWord, 64),
    Text("NicFacts.firmware", Letters::kLine, 64),

    Text("PciDeviceFacts.address", Letters::kColons, 32),
    Text("PciDeviceFacts.vendor_id", Letters::kWord, 16),
    Text("PciDeviceFacts.device_id", Letters::kWord, 16),
    Text("PciDeviceFacts.class_code", Letters::kWord, 16),
    Text("PciDeviceFacts.driver", Letters::kWord, 64),
    Number("PciDeviceFacts.numa_node", -1, kMost16),

    Number("GpuFacts.index", 0, 4095),
    Text("GpuFacts.uuid", Letters::kId, 96),
    Text("GpuFacts.name", Letters::kLine, 128),
    Required(Text("GpuFacts.slurm_type", Letters::kType, 64)),
    Number("GpuFacts.memory_mib", 0, kMostMib),
    Text("GpuFacts.pci_address", Letters::kColons, 32),
    Text("GpuFacts.serial", Letters::kLine, 64),
    Text("GpuFacts.device_path", Letters::kDevice, 128),
    Text("GpuFacts.vbios_version", Letters::kWord, 64),
    Number("GpuFacts.power_limit_watts", 0, 1e6),
    List(256, Any("GpuFacts.local_cores")),

    Number("CoreRange.first", 0, kMost16),
    Number("CoreRange.last", 0, kMost16),

    Text("SlurmFacts.version", Letters::kWord, 64),
    Text("SlurmFacts.slurmd_c", Letters::kLine, 4096),
    Number("SlurmFacts.slurmd_pid", 0, kMost32),
    Text("SlurmFacts.slurmd_invocation", Letters::kId, 64),
    Text("SlurmFacts.gpu_autodetect", Letters::kWord, 32),

    Text("MountFacts.source", Letters::kLine, kPathBytes),
    Text("MountFacts.target", Letters::kLine, kPathBytes),
    Text("MountFacts.type", Letters::kWord, 64),
    Text("MountFacts.options", Letters::kLine, 2 * kPathBytes),

    Number("CgroupFacts.version", 0, 2),
    List(64, Text("CgroupFacts.controllers", Letters::kWord, 64)),
    Any("CgroupFacts.usable_by_slurm"),

    // Parts of a line in other nodes' known_hosts. RSA with 16384 bits has 2764.
    Required(Text("SshHostKey.type", Letters::kWord, 32)),
    Required(Text("SshHostKey.key", Letters::kBase64, 3072)),

    Text("MachineFacts.vendor", Letters::kLine, kFactLineBytes),
    Text("MachineFacts.product", Letters::kLine, kFactLineBytes),
    Text("MachineFacts.bios_version", Letters::kLine, 128),
    Text("MachineFacts.bios_date", Letters::kLine, 32),
    Text("MachineFacts.microcode", Letters::kWord, 32),
    Text("MachineFacts.serial", Letters::kLine, 128),

    Number("PackageFacts.count", 0, kMost32),
    Text("PackageFacts.digest", Letters::kId, 64),
    List(kMostPackages, Text("PackageFacts.lines", Letters::kLine, kFactLineBytes)),

    Required(Text("NeighborFacts.interface", Letters::kName, 64)),
    Text("NeighborFacts.system", Letters::kLine, kFactLineBytes),
    Text("NeighborFacts.port", Letters::kLine, kFactLineBytes),
};

}  // namespace

absl::Span<const FieldRule> FactsRules() { return kFactsRules; }

}  // namespace muster::wire
