// Mounted file systems that hold data, and the places where some are mounted on use.
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "agent/facts/probe.h"
#include "agent/facts/sysfs.h"
#include "common/base/status.h"
#include "common/base/text/mount_field.h"
#include "muster/v1/facts.pb.h"

namespace muster::agent {
namespace {

const std::set<absl::string_view>& KernelsOwn() {
  static const std::set<absl::string_view> kTypes = {
      "binfmt_misc", "bpf",      "cgroup",     "cgroup2",    "configfs",  "debugfs",
      "devpts",      "devtmpfs", "efivarfs",   "fusectl",    "hugetlbfs", "mqueue",
      "proc",        "pstore",   "rpc_pipefs", "securityfs", "sysfs",     "tracefs"};
  return kTypes;
}

// The places where data is mounted on use are of the type autofs, as is one in /proc on every node.
bool IsKernelsOwn(absl::string_view type, absl::string_view target) {
  return KernelsOwn().count(type) > 0 || (type == "autofs" && absl::StartsWith(target, "/proc/"));
}

}  // namespace

absl::Status ProbeMounts(const ProbeContext& context, v1::Facts& facts) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(context.root + "/proc/self/mounts"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, ' ');
    if (fields.size() < 4 || IsKernelsOwn(fields[2], fields[1])) continue;
    v1::MountFacts& mount = *facts.add_mounts();
    mount.set_source(UnescapeMountField(fields[0]));
    mount.set_target(UnescapeMountField(fields[1]));
    mount.set_type(std::string(fields[2]));
    mount.set_options(std::string(fields[3]));
  }
  return absl::OkStatus();
}

}  // namespace muster::agent
