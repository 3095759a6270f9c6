#include "controller/claim/node_claims.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/text/hostlist.h"

namespace muster::controller {

std::map<std::string, NodeClaims::Taken> NodeClaims::TakenFrom(
    const std::vector<std::string>& nodes, const std::string& except) const {
  std::map<std::string, Taken> taken;
  for (const std::string& node : nodes) {
    const auto found = holder_of_.find(node);
    if (found != holder_of_.end() && found->second != except) {
      taken[found->second].nodes.push_back(node);
    }
  }
  for (auto& [id, held] : taken) {
    const Holder& other = holders_.at(id).holder;
    held.reason = absl::StrCat(other.doing, " ", FoldHostlist(held.nodes), " since ",
                               absl::FormatTime("%H:%M:%S UTC", other.since, absl::UTCTimeZone()),
                               "; ", other.remedy, ", or leave these nodes out");
  }
  return taken;
}

std::map<std::string, NodeClaims::Taken> NodeClaims::HoldersOf(
    const std::vector<std::string>& nodes) const {
  absl::MutexLock lock(&mutex_);
  return TakenFrom(nodes, "");
}

absl::Status NodeClaims::Claim(const Holder& holder, const std::vector<std::string>& nodes) {
  absl::MutexLock lock(&mutex_);
  const std::map<std::string, Taken> taken = TakenFrom(nodes, holder.id);
  if (!taken.empty()) return absl::FailedPreconditionError(taken.begin()->second.reason);
  Held& held = holders_[holder.id];
  held.holder = holder;
  for (const std::string& node : nodes) {
    if (holder_of_.emplace(node, holder.id).second) held.nodes.push_back(node);
  }
  return absl::OkStatus();
}

std::set<std::string> NodeClaims::HeldOf(const std::vector<std::string>& nodes) const {
  absl::MutexLock lock(&mutex_);
  std::set<std::string> held;
  for (const std::string& node : nodes) {
    if (holder_of_.count(node) != 0) held.insert(node);
  }
  return held;
}

void NodeClaims::Release(const std::string& holder_id) {
  absl::MutexLock lock(&mutex_);
  const auto found = holders_.find(holder_id);
  if (found == holders_.end()) return;
  for (const std::string& node : found->second.nodes) holder_of_.erase(node);
  holders_.erase(found);
}

void NodeClaims::ReleaseNode(const std::string& holder_id, const std::string& node) {
  absl::MutexLock lock(&mutex_);
  const auto found = holders_.find(holder_id);
  if (found == holders_.end()) return;
  std::vector<std::string>& nodes = found->second.nodes;
  const auto held = std::find(nodes.begin(), nodes.end(), node);
  if (held == nodes.end()) return;
  nodes.erase(held);
  holder_of_.erase(node);
}

}  // namespace muster::controller
