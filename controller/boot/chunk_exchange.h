// Machines that fetch the same root at once, and pass its chunks on to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller::boot {

// Chooses which chunk a machine fetches next, and from whom: the chunk that fewest have, so that
// everybody soon has something to give, from a machine of the same rack if one has time. Nothing
// that a machine says is believed of its content; whoever gives what is not the chunk is asked no
// more. Pure; not thread-safe.
class ChunkExchange {
 public:
  // What one gives to others at the same time; chosen by the simulation in its test.
  static constexpr int kUploadsOfSeed = 4;
  static constexpr int kUploadsOfMachine = 4;
  // More machines than that wait for a place.
  static constexpr size_t kMaxMachines = 20'000;
  // A fetch whose end nobody has told is over.
  static constexpr absl::Duration kLease = absl::Seconds(40);
  // A machine that has not asked for so long is gone.
  static constexpr absl::Duration kForgotten = absl::Minutes(2);
  // The least that a machine waits.
  static constexpr absl::Duration kShortestWait = absl::Milliseconds(200);
  // A machine from which so many others got nothing is not asked any more.
  static constexpr size_t kMaxFaults = 3;

  struct Step {
    enum class Kind { kFetch, kWait, kWhole };
    Kind kind = Kind::kWait;
    size_t chunk = 0;  // of kFetch
    // Of kFetch: an address; nullopt: the controller.
    std::optional<std::string> source = std::nullopt;
    absl::Duration wait = absl::ZeroDuration();  // of kWait
  };

  explicit ChunkExchange(size_t chunks);

  // What the machine does next; `address` is where others fetch from it, "": from nowhere.
  Step Next(absl::string_view machine, absl::string_view address, absl::string_view rack,
            absl::Time now);
  // The end of a fetch: it has the chunk, or got something else or nothing.
  void Had(absl::string_view machine, size_t chunk, absl::Time now);
  void Lost(absl::string_view machine, size_t chunk);
  // It has the whole root and will stop giving: nobody is sent to it any more. True: nobody fetches
  // from it either, and it is forgotten.
  bool Leave(absl::string_view machine, absl::Time now);

  size_t machines() const { return ids_.size(); }

 private:
  using Id = uint32_t;
  struct Fetch {
    std::optional<Id> source;  // nullopt: the controller
    absl::Time began;
  };
  struct Machine {
    std::string name;
    std::string address;
    std::string rack;
    std::vector<bool> has;
    absl::Time seen_at = absl::InfinitePast();
    size_t had = 0;
    std::map<size_t, Fetch> fetches = {};  // by chunk
    std::set<size_t> from_seed = {};       // what it did not get from another machine
    int uploads = 0;
    std::set<Id> failed = {};  // machines that got nothing from it
    bool is_leaving = false;
  };
  struct Lease {
    absl::Time began;
    Id machine;
    size_t chunk;
  };

  // nullptr: there is none, or it is gone.
  Machine* Find(absl::string_view name);
  Machine* Find(Id id) { return machines_[id].get(); }
  void Forget(Id id);
  void ForgetGone(absl::Time now);
  // Frees the source; nullopt: the machine does not fetch the chunk.
  std::optional<Fetch> End(Machine& machine, size_t chunk);
  // A machine that has the chunk and time.
  std::optional<Id> SourceOf(size_t chunk, Id asking);
  bool CanGive(const Machine& machine) const;
  Step Wait() const;

  const size_t chunks_;
  absl::flat_hash_map<std::string, Id> ids_;        // by name
  std::vector<std::unique_ptr<Machine>> machines_;  // by id
  std::vector<std::vector<Id>> holders_;            // by chunk; may have ids that are gone
  std::vector<size_t> copies_;                      // by chunk: with those on their way
  int uploads_of_seed_ = 0;
  std::deque<Lease> leases_;  // in their order; may have those that have ended
  absl::Duration usual_fetch_ = absl::ZeroDuration();
  absl::Time look_at_ = absl::InfinitePast();
};

}  // namespace muster::controller::boot
