#include "controller/claim/node_claims.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/hostlist.h"

namespace muster::controller {

absl::Status NodeClaims::Claim(const Holder& holder, const std::vector<std::string>& nodes) {
  absl::MutexLock lock(&mutex_);
  std::map<std::string, std::vector<std::string>> taken;  // by holder
  for (const std::string& node : nodes) {
    const auto found = holder_of_.find(node);
    if (found != holder_of_.end() && found->second != holder.id) {
      taken[found->second].push_back(node);
    }
  }
  for (auto& [id, names] : taken) {
    const Holder& other = holders_.at(id).holder;
    return absl::FailedPreconditionError(
        absl::StrCat(other.doing, " ", FoldHostlist(std::move(names)), " since ",
                     absl::FormatTime("%H:%M:%S UTC", other.since, absl::UTCTimeZone()), "; ",
                     other.remedy, ", or leave these nodes out"));
  }
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
