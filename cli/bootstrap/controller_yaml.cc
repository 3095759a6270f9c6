#include "cli/bootstrap/controller_yaml.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"

namespace muster::cli {
namespace {

// Ports of the other listeners in the text below; the last is used only when network boot is on.
constexpr int kPackagePort = 7480;
constexpr int kBootPort = 7483;

// $0 cluster, $1 host, $2 main port, $3 enrollment port, $4 directory.
constexpr char kTemplate[] =
    R"(# Settings of musterd. After a change: systemctl restart musterd; nodes and runs continue.

# The cluster's name, as in the inventory.
cluster: $0

# Where nodes and administrators reach this controller, as certificates and join lines name it.
controller_address: $1:$2
enrollment_address: $1:$3

# Where musterd listens. The main port accepts only callers with a certificate of this cluster; the
# enrollment port offers only joining; the package port serves the agent's package, whose
# digest travels in the join line, and snapshots.
listen: 0.0.0.0:$2
enrollment_listen: 0.0.0.0:$3
package_listen: 0.0.0.0:7480

# Metrics for Prometheus, as /metrics; whoever can connect can read them. "off": none.
metrics_listen: 127.0.0.1:7481

# The web page, by HTTPS; `muster web login` prints a link into it. "off": none. Where something
# stands before it, web_address says how browsers reach it; web_certificate and web_key are the PEM
# files of another certificate than the controller's.
web_listen: 127.0.0.1:7482

# What machines boot from the network, by plain HTTP; an address in their network: 10.0.0.1:7483. "off":
# nothing.
boot_listen: "off"

# Keys and certificates that `muster init` made.
pki_directory: $4/pki

# The store, bundles and file contents: what to back up, together with pki_directory.
state_directory: /var/lib/muster-controller

# Agent packages (*.deb) that joining machines install.
package_directory: /usr/share/muster/packages

# The most GiB that snapshots of repositories, with the packages that nodes have asked for, take in
# state_directory.
snapshot_gib: 200
# The most GiB that images of nodes' root file systems take in state_directory.
image_gib: 200

# Hours after the last `muster backup create` from which on the notification channels of the inventory
# are told that a backup is overdue. 0: never.
backup_hours: 48

# "on": a node takes jobs only after it has passed a validation with its present GPUs, driver and
# kernel; other nodes are drained, with "muster:" in the reason. Drains by others are left alone.
# "off": Slurm is left alone.
slurm_gate: "on"

# "approved": operators run only what an administrator has applied or approved (`muster bundle`).
# "any": they run whatever they upload, which makes each of them root on every node.
operator_bundles: approved

# "named": only the roles that a secret names (`muster secret roles`) may read it.
# "any": every role may read every secret.
secret_readers: named

# "on": administrators run programs on nodes as root (`muster exec`). "off": nobody does, and every
# change of a node comes from a playbook.
exec: "off"
)";

}  // namespace

absl::Status CheckControllerPort(int port) {
  if (port + 1 < kPackagePort || port > kBootPort) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("musterd takes the port and the one after it, and its other listeners have ",
                   kPackagePort, " to ", kBootPort, "; choose another port, such as 7443"));
}

std::string ControllerYaml(const std::string& cluster, const std::string& host, int port,
                           const std::string& directory) {
  return absl::Substitute(kTemplate, cluster, host, port, port + 1, directory);
}

}  // namespace muster::cli
