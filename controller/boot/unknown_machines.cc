#include "controller/boot/unknown_machines.h"

namespace muster::controller::boot {

void UnknownMachines::Add(absl::string_view mac, absl::string_view peer, absl::Time now) {
  ++requests_;
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
  ++machine.requests;
}

void UnknownMachines::Remove(absl::string_view mac) {
  const auto found = by_mac_.find(mac);
  if (found == by_mac_.end()) return;
  machines_.erase(found->second);
  by_mac_.erase(found);
}

}  // namespace muster::controller::boot
