// Snapshots of the repositories that an inventory names.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "muster/v1/snapshot.pb.h"

namespace muster {
class Clock;
}
namespace muster::sys {
class HttpClient;
class ProcessRunner;
}  // namespace muster::sys

namespace muster::controller {
class Inventory;
class Store;
struct Actor;
}  // namespace muster::controller

namespace muster::controller::snapshot {

class SnapshotStore;

// The variable by which nodes use a snapshot.
inline constexpr char kSnapshotVariable[] = "os_snapshot";

// The first place where the inventory gives nodes this snapshot, for people: "group_vars/all.yaml:3
// (group all)". "": none does. Pure.
std::string UseOf(const Inventory& inventory, absl::string_view snapshot);

// Creates and removes them, one at a time. Thread-safe.
class Snapshots {
 public:
  using LatestInventory = std::function<absl::StatusOr<std::shared_ptr<const Inventory>>()>;

  // The references must outlive the object.
  Snapshots(SnapshotStore& snapshots, Store& store, sys::HttpClient& http,
            sys::ProcessRunner& processes, LatestInventory latest_inventory, Clock& clock);

  // See SnapshotService. `cancelled` is asked at least once a second.
  absl::StatusOr<v1::Snapshot> Create(const std::string& name, const Actor& actor,
                                      const std::function<bool()>& cancelled);
  absl::StatusOr<uint64_t> Remove(const std::string& name, const Actor& actor);

 private:
  absl::StatusOr<v1::Snapshot> Make(const std::string& name, const Actor& actor,
                                    const std::function<bool()>& cancelled);

  SnapshotStore& snapshots_;
  Store& store_;
  sys::HttpClient& http_;
  sys::ProcessRunner& processes_;
  const LatestInventory latest_inventory_;
  Clock& clock_;
  std::atomic<bool> is_changing_ = false;
};

}  // namespace muster::controller::snapshot
