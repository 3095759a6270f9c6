// The control groups of the node, and whether Slurm can use them.
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

bool Has(const v1::CgroupFacts& cgroup, absl::string_view controller) {
  return std::find(cgroup.controllers().begin(), cgroup.controllers().end(), controller) !=
         cgroup.controllers().end();
}

}  // namespace

absl::Status ProbeCgroup(const ProbeContext& context, v1::Facts& facts) {
  const std::string root = context.root + "/sys/fs/cgroup";
  v1::CgroupFacts& cgroup = *facts.mutable_cgroup();
  if (const auto controllers = ReadValue(root + "/cgroup.controllers")) {
    cgroup.set_version(2);
    for (absl::string_view name : absl::StrSplit(*controllers, ' ', absl::SkipEmpty()))
      cgroup.add_controllers(std::string(name));
  } else {
    cgroup.set_version(1);
    for (const std::string& name : ListNames(root))
      if (name != "systemd" && name != "unified" && ReadValue(root + "/" + name + "/tasks"))
        cgroup.add_controllers(name);
  }
  // Inside a container the host arranges the hierarchy: a group that looks writable may still
  // refuse to hold tasks, and a slurmd that cannot make its groups does not start at all.
  const bool contained = ReadValue(context.root + "/run/systemd/container").has_value();
  cgroup.set_usable_by_slurm(!contained && Has(cgroup, "cpuset") && Has(cgroup, "memory") &&
                             access(root.c_str(), W_OK) == 0);
  return absl::OkStatus();
}

}  // namespace muster::agent
