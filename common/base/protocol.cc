#include "common/base/protocol.h"

#include "absl/strings/str_cat.h"
#include "common/base/version.h"

namespace muster {

absl::Status CheckProtocol(uint32_t protocol, absl::string_view agent_version) {
  if (protocol <= kProtocol && protocol + 1 >= kProtocol) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "muster-agent ", agent_version, " speaks protocol ", protocol, ", and this controller, ",
      kVersion, ", only ", kProtocol - 1, " and ", kProtocol, ": ",
      protocol > kProtocol
          ? "upgrade the controller, or install its package of the agent on the node"
          : "install the controller's package of the agent on the node"));
}

}  // namespace muster
