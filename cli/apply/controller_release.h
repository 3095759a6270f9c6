// A release of Muster as packages, and the playbook that exchanges musterd for it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/node.pb.h"

namespace muster::sys {
class ProcessRunner;
}

namespace muster::cli {

// Where the playbook is in its bundle.
inline constexpr absl::string_view kControllerUpdatePath = "playbooks/controller-update.yaml";

struct ControllerRelease {
  std::string version;
  std::string controller_package;  // files
  std::string cli_package;         // "": none was given
};

// Reads what the packages say of themselves. A folder stands for the packages of Muster in it; that
// of the agent is left out, because the controller's has it in it. InvalidArgument: another package
// is among the files, or not exactly one of musterd, or the versions differ.
absl::StatusOr<ControllerRelease> ReadRelease(const std::vector<std::string>& paths,
                                              sys::ProcessRunner& processes);

// Whether `version` comes before `other` by Debian's rules.
absl::StatusOr<bool> IsOlder(const std::string& version, const std::string& other,
                             sys::ProcessRunner& processes);

// The files of a bundle that exchanges musterd on the node that its run is limited to: path →
// content. `contents` are those of the packages, "" where there is none. Pure.
std::map<std::string, std::string> UpdateBundle(const std::string& version,
                                                std::string controller_package,
                                                std::string cli_package, bool allow_downgrade);

// The node where musterd runs that is reached at `address` ("host:port"): the one of that name or
// address, otherwise the only login node. "": none can be told. Pure.
std::string ControllerNode(absl::string_view address, const v1::ListNodesResponse& nodes);

}  // namespace muster::cli
