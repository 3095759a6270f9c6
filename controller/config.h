// Settings of musterd: /etc/muster/controller.yaml.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace muster::controller {

// The keys of the file, with their defaults. Addresses are "host:port".
struct Config {
  std::string cluster;             // required
  std::string controller_address;  // required: the address at which nodes and people reach `listen`
  std::string enrollment_address;  // as written; "": controller_address' host and port 7444
  std::string listen = "0.0.0.0:7443";
  std::string enrollment_listen = "0.0.0.0:7444";
  std::string package_listen = "0.0.0.0:7480";
  // What Prometheus reads, without asking who is there; "off": nothing.
  std::string metrics_listen = "127.0.0.1:7481";
  // The web page, by HTTPS; "off": none. `web_address` is how browsers reach it where something
  // stands before it; certificate and key are PEM files; "": the controller's own.
  std::string web_listen = "127.0.0.1:7482";
  std::string web_address;
  std::string web_certificate;
  std::string web_key;
  // What machines boot from, by plain HTTP; "off": nothing.
  std::string boot_listen = "off";
  std::string pki_directory = "/etc/muster/pki";
  std::string state_directory = "/var/lib/muster-controller";
  std::string package_directory = "/usr/share/muster/packages";
  // The most GiB that snapshots, with the packages that nodes have asked for, take on the disk.
  std::string snapshot_gib = "200";
  // The most GiB that images take on the disk.
  std::string image_gib = "200";
  // The number of hours after the last backup of the controller from which on people are told that
  // it is overdue; "0": nobody is.
  std::string backup_hours = "48";
  // "on": Slurm gives jobs only to nodes that have passed a validation. "off": Slurm is left alone.
  std::string slurm_gate = "on";
  // "approved": operators run what an administrator has applied or approved. "any": they run
  // whatever they upload, which makes them root on every node.
  std::string operator_bundles = "approved";
  // "named": a secret can be read by the roles that it names. "any": by every role.
  std::string secret_readers = "named";
  // "on": administrators run programs on nodes by `muster exec`. "off": nobody does.
  std::string exec = "off";
};

// "host" of "host:port"; "[::1]" of "[::1]:7443".
std::string HostOf(absl::string_view address);

// InvalidArgument with file:line:column for unknown keys and bad values.
absl::StatusOr<Config> ParseConfig(absl::string_view file_name, absl::string_view text);
// Also NotFound, with the remedy, when there is no such file.
absl::StatusOr<Config> LoadConfig(const std::string& path);

}  // namespace muster::controller
