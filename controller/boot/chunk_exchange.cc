#include "controller/boot/chunk_exchange.h"

#include <algorithm>
#include <utility>

namespace muster::controller::boot {
namespace {

// How many of those that have a chunk are looked at.
constexpr size_t kLooks = 16;
constexpr absl::Duration kLookForGone = absl::Seconds(15);
// Thousands that ask again at once would have the controller do nothing but say that there is
// nothing yet: so long for each that is there.
constexpr absl::Duration kWaitPerMachine = absl::Microseconds(800);
constexpr absl::Duration kLongestWait = absl::Seconds(5);
// The usual fetch is a mean in which the newest counts for so much.
constexpr double kNewest = 1.0 / 16;

}  // namespace

ChunkExchange::ChunkExchange(size_t chunks)
    : chunks_(chunks), holders_(chunks), copies_(chunks, 0) {}

ChunkExchange::Machine* ChunkExchange::Find(absl::string_view name) {
  const auto id = ids_.find(name);
  return id == ids_.end() ? nullptr : Find(id->second);
}

std::optional<ChunkExchange::Fetch> ChunkExchange::End(Machine& machine, size_t chunk) {
  const auto found = machine.fetches.find(chunk);
  if (found == machine.fetches.end()) return std::nullopt;
  const Fetch fetch = found->second;
  machine.fetches.erase(found);
  --copies_[chunk];
  if (!fetch.source.has_value()) {
    --uploads_of_seed_;
  } else if (Machine* const source = Find(*fetch.source); source != nullptr) {
    --source->uploads;
  }
  return fetch;
}

void ChunkExchange::Forget(Id id) {
  Machine& machine = *Find(id);
  while (!machine.fetches.empty()) End(machine, machine.fetches.begin()->first);
  for (size_t chunk = 0; chunk < chunks_; ++chunk) copies_[chunk] -= machine.has[chunk] ? 1 : 0;
  ids_.erase(machine.name);
  machines_[id].reset();
  if (!ids_.empty()) return;
  // The next machines begin with small numbers again.
  machines_.clear();
  leases_.clear();
  for (std::vector<Id>& holders : holders_) holders.clear();
}

void ChunkExchange::ForgetGone(absl::Time now) {
  while (!leases_.empty() && now - leases_.front().began >= kLease) {
    const Lease lease = leases_.front();
    leases_.pop_front();
    Machine* const machine = Find(lease.machine);
    if (machine == nullptr) continue;
    const auto fetch = machine->fetches.find(lease.chunk);
    if (fetch != machine->fetches.end() && now - fetch->second.began >= kLease)
      End(*machine, lease.chunk);
  }
  if (now < look_at_) return;
  look_at_ = now + kLookForGone;
  std::vector<Id> gone;
  for (const auto& [name, id] : ids_) {
    if (now - Find(id)->seen_at >= kForgotten) gone.push_back(id);
  }
  for (const Id id : gone) Forget(id);
}

bool ChunkExchange::CanGive(const Machine& machine) const {
  return !machine.is_leaving && !machine.address.empty() && machine.uploads < kUploadsOfMachine &&
         machine.failed.size() < kMaxFaults;
}

std::optional<ChunkExchange::Id> ChunkExchange::SourceOf(size_t chunk, Id asking) {
  std::vector<Id>& holders = holders_[chunk];
  const std::string& rack = Find(asking)->rack;
  std::optional<Id> best;
  std::pair<bool, int> best_rank;  // of another rack, and how much it gives already
  size_t at = asking;              // each begins elsewhere
  for (size_t looks = 0; looks < kLooks && looks < holders.size(); ++looks) {
    at = (at + 1) % holders.size();
    const Machine* const holder = Find(holders[at]);
    if (holder == nullptr) {
      holders[at] = holders.back();
      holders.pop_back();
      continue;
    }
    if (!CanGive(*holder)) continue;
    const std::pair<bool, int> rank = {holder->rack != rack, holder->uploads};
    if (best.has_value() && rank >= best_rank) continue;
    best = holders[at];
    best_rank = rank;
  }
  return best;
}

ChunkExchange::Step ChunkExchange::Next(absl::string_view name, absl::string_view address,
                                        absl::string_view rack, absl::Time now) {
  ForgetGone(now);
  auto known = ids_.find(name);
  if (known == ids_.end()) {
    if (ids_.size() >= kMaxMachines) return Wait();
    known = ids_.emplace(name, static_cast<Id>(machines_.size())).first;
    machines_.push_back(
        std::make_unique<Machine>(Machine{.name = std::string(name),
                                          .address = std::string(address),
                                          .rack = std::string(rack),
                                          .has = std::vector<bool>(chunks_, false)}));
  }
  const Id id = known->second;
  Machine& machine = *Find(id);
  machine.seen_at = now;
  if (machine.had == chunks_) return {.kind = Step::Kind::kWhole};

  const bool seed_has_time = uploads_of_seed_ < kUploadsOfSeed;
  std::optional<size_t> best;
  std::optional<Id> source;
  // Each begins elsewhere, so that equally rare chunks come to different machines.
  for (size_t i = 0; i < chunks_; ++i) {
    const size_t chunk = (i + size_t{id} * 31) % chunks_;
    if (machine.has[chunk] || machine.fetches.count(chunk) > 0) continue;
    if (best.has_value() && copies_[chunk] >= copies_[*best]) continue;
    std::optional<Id> from;
    if (machine.from_seed.count(chunk) == 0) from = SourceOf(chunk, id);
    if (!from.has_value() && !seed_has_time) continue;
    best = chunk;
    source = from;
    if (copies_[chunk] == 0) break;
  }
  if (!best.has_value()) return Wait();
  machine.fetches[*best] = {source, now};
  leases_.push_back({now, id, *best});
  ++copies_[*best];
  Step step = {.kind = Step::Kind::kFetch, .chunk = *best};
  if (source.has_value()) {
    Machine& giver = *Find(*source);
    ++giver.uploads;
    step.source = giver.address;
  } else {
    ++uploads_of_seed_;
  }
  return step;
}

// There is nothing to fetch before somebody's fetch has ended.
ChunkExchange::Step ChunkExchange::Wait() const {
  const absl::Duration of_all = kWaitPerMachine * static_cast<int64_t>(ids_.size());
  return {.wait = std::clamp(std::max(of_all, usual_fetch_), kShortestWait, kLongestWait)};
}

void ChunkExchange::Had(absl::string_view name, size_t chunk, absl::Time now) {
  Machine* const machine = Find(name);
  if (machine == nullptr) return;
  const std::optional<Fetch> fetch = End(*machine, chunk);
  // A machine is not believed that it has a chunk for which it was not sent: others would be sent
  // to it.
  if (!fetch.has_value()) return;
  usual_fetch_ += (now - fetch->began - usual_fetch_) * kNewest;
  machine->has[chunk] = true;
  ++machine->had;
  ++copies_[chunk];
  holders_[chunk].push_back(ids_.at(name));
}

void ChunkExchange::Lost(absl::string_view name, size_t chunk) {
  Machine* const machine = Find(name);
  if (machine == nullptr) return;
  const std::optional<Fetch> fetch = End(*machine, chunk);
  if (!fetch.has_value() || !fetch->source.has_value()) return;
  machine->from_seed.insert(chunk);
  Machine* const source = Find(*fetch->source);
  if (source != nullptr && !source->is_leaving) source->failed.insert(ids_.at(name));
}

bool ChunkExchange::Leave(absl::string_view name, absl::Time now) {
  ForgetGone(now);
  Machine* const machine = Find(name);
  if (machine == nullptr) return true;
  machine->is_leaving = true;
  machine->seen_at = now;
  if (machine->uploads > 0) return false;
  Forget(ids_.at(name));
  return true;
}

}  // namespace muster::controller::boot
