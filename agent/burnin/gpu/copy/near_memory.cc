#include "agent/burnin/gpu/copy/near_memory.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/sys/file_system.h"

namespace muster::burnin {
namespace {

// Values from <linux/mempolicy.h>; glibc has no wrapper.
constexpr int kPolicyDefault = 0, kPolicyPreferred = 1;
constexpr int kMaxNode = 1023;

// "0-3,8" as the kernel writes it.
bool ParseCpuList(absl::string_view text, cpu_set_t& cpus) {
  CPU_ZERO(&cpus);
  for (const absl::string_view part :
       absl::StrSplit(absl::StripAsciiWhitespace(text), ',', absl::SkipEmpty())) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first = 0, last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first < 0 || last >= CPU_SETSIZE)
      return false;
    for (int cpu = first; cpu <= last; ++cpu) CPU_SET(cpu, &cpus);
  }
  return CPU_COUNT(&cpus) > 0;
}

}  // namespace

std::optional<int> NumaNodeOf(sys::FileSystem& files, const std::string& pci_address) {
  const absl::StatusOr<std::string> text =
      files.Read(absl::StrCat("/sys/bus/pci/devices/", pci_address, "/numa_node"));
  int node = -1;
  if (!text.ok() || !absl::SimpleAtoi(*text, &node) || node < 0 || node > kMaxNode)
    return std::nullopt;
  return node;
}

NearNode::NearNode(sys::FileSystem& files, std::optional<int> node) {
  if (!node.has_value()) return;
  std::vector<unsigned long> mask(kMaxNode / (8 * sizeof(unsigned long)) + 1);
  mask[static_cast<size_t>(*node) / (8 * sizeof(unsigned long))] =
      1ul << static_cast<size_t>(*node) % (8 * sizeof(unsigned long));
  bound_ = syscall(SYS_set_mempolicy, kPolicyPreferred, mask.data(),
                   static_cast<unsigned long>(kMaxNode + 1)) == 0;
  const absl::StatusOr<std::string> list =
      files.Read(absl::StrCat("/sys/devices/system/node/node", *node, "/cpulist"));
  cpu_set_t cpus;
  // The thread ends with the measurement: its affinity need not be restored.
  if (list.ok() && ParseCpuList(*list, cpus)) sched_setaffinity(0, sizeof(cpus), &cpus);
}

NearNode::~NearNode() {
  if (bound_) syscall(SYS_set_mempolicy, kPolicyDefault, nullptr, 0ul);
}

}  // namespace muster::burnin
