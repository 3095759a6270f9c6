#include "controller/wiring/rollout_suite.h"

#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status.h"
#include "common/base/text/hostlist.h"
#include "controller/run/collaborators.h"
#include "muster/v1/rollout.pb.h"

namespace muster::controller {

absl::StatusOr<std::string> SuiteForRollout(const RunCollaborators& with,
                                            const v1::CreateRolloutRequest& request,
                                            const std::vector<std::string>& nodes) {
  ASSIGN_OR_RETURN(const FileTree site, with.load_bundle(request.bundle_sha256()));
  ASSIGN_OR_RETURN(const InventoryVersion inventory, with.inventory.Latest());
  PlaybookEnding ending{"", request.suite(), nodes};
  if (ending.suite.empty()) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const Playbook> playbook,
                     with.compiler.Load(site, request.playbook()));
    // Whatever part of the playbook is applied: the nodes are tested before they come back.
    ASSIGN_OR_RETURN(const std::vector<PlaybookEnding> endings,
                     with.compiler.SelectEndings(*playbook, *inventory.inventory,
                                                 FoldHostlist(nodes), /*tags=*/{}));
    std::set<std::string> suites;
    for (const PlaybookEnding& each : endings) suites.insert(each.suite);
    if (suites.empty()) return "";
    if (suites.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          request.playbook(), " ends with several suites for these nodes (",
          absl::StrJoin(suites, ", "), "): choose one by --suite, or name fewer nodes by --limit"));
    }
    ending.suite = *suites.begin();
  }
  RETURN_IF_ERROR(with.check_ending(site, ending, inventory.inventory));
  return ending.suite;
}

}  // namespace muster::controller
