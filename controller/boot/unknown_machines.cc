#include "controller/boot/unknown_machines.h"

#include <utility>

namespace muster::controller::boot {

SeenMachine& UnknownMachines::Find(absl::string_view mac, absl::string_view peer, absl::Time now) {
  const auto found = by_mac_.find(mac);
  if (found == by_mac_.end()) {
    machines_.push_front(
        {.mac = std::string(mac), .peer = "", .first_seen = now, .last_seen = now});
    by_mac_[machines_.front().mac] = machines_.begin();
    if (machines_.size() > kMax) {
      by_mac_.erase(machines_.back().mac);
      machines_.pop_back();
    }
  } else {
    machines_.splice(machines_.begin(), machines_, found->second);
  }
  SeenMachine& machine = machines_.front();
  machine.peer = std::string(peer);
  machine.last_seen = now;
  return machine;
}

void UnknownMachines::Add(absl::string_view mac, absl::string_view peer, absl::Time now) {
  ++requests_;
  const auto found = by_mac_.find(mac);
  const bool is_back = found != by_mac_.end() && now - found->second->last_seen > kSilence;
  SeenMachine& machine = Find(mac, peer, now);
  ++machine.requests;
  if (!is_back) return;
  machine.first_seen = now;
  machine.facts.clear();
  machine.told_at = absl::Time();
}

void UnknownMachines::Tell(absl::string_view mac, absl::string_view peer, std::string facts,
                           absl::Duration up_for, absl::Time now) {
  const bool is_new = !by_mac_.contains(mac);
  SeenMachine& machine = Find(mac, peer, now);
  if (is_new) machine.first_seen = now - up_for;
  machine.facts = std::move(facts);
  machine.told_at = now;
}

void UnknownMachines::Remove(absl::string_view mac) {
  const auto found = by_mac_.find(mac);
  if (found == by_mac_.end()) return;
  machines_.erase(found->second);
  by_mac_.erase(found);
}

}  // namespace muster::controller::boot
