// Machines that asked what to boot and that nobody has described.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/boot/boot_script.h"

namespace muster::controller::boot {

struct SeenMachine {
  std::string mac;
  std::string peer;       // as gRPC writes it
  absl::Time first_seen;  // since it was switched on last
  absl::Time last_seen;
  uint64_t requests = 0;
  // What it tells of itself, a serialized v1::Facts; "": nothing yet.
  std::string facts;
  absl::Time told_at;
};

// Those that asked last; whoever sends many addresses pushes the others out, and nothing else. Not
// thread-safe.
class UnknownMachines {
 public:
  static constexpr size_t kMax = 256;
  // A machine that asks after a longer silence than this has been switched on anew: it asks once,
  // or again after the pause of its script, and then tells of itself every 15 seconds.
  static constexpr absl::Duration kSilence = absl::Seconds(kAskAgainSeconds + 15);

  // It asks what to boot. What it told before it was switched on last is forgotten.
  void Add(absl::string_view mac, absl::string_view peer, absl::Time now);
  // It tells of itself. One that has been forgotten, by a restart of the controller, is added and
  // was first seen when it was switched on, `up_for` ago: their order is what names are given by.
  void Tell(absl::string_view mac, absl::string_view peer, std::string facts, absl::Duration up_for,
            absl::Time now);
  // Somebody has described it.
  void Remove(absl::string_view mac);
  // The newest first.
  const std::list<SeenMachine>& machines() const { return machines_; }
  uint64_t requests() const { return requests_; }

 private:
  // Puts it first.
  SeenMachine& Find(absl::string_view mac, absl::string_view peer, absl::Time now);

  std::list<SeenMachine> machines_;
  absl::flat_hash_map<std::string, std::list<SeenMachine>::iterator> by_mac_;
  uint64_t requests_ = 0;
};

}  // namespace muster::controller::boot
