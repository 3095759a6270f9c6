// The tables of network boots and their rows; included by tables.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::controller {

// What a node is to boot, whatever the inventory says.
struct BootOrderRecord {
  std::string node;
  std::string order_id;
  std::string choice;  // as BootChoice writes it
  bool once = false;
  std::string ordered_by;  // "admin:alice"
  absl::Time ordered_at;
};

struct BootRecord {
  std::string boot_id;
  std::string node;
  std::string mac;
  std::string what;      // for people
  std::string image;     // digest; "": a disk, or an image that is not there
  std::string order_id;  // of the order that it carries out; "": none
  absl::Time began_at;
  bool is_signed = false;  // it boots what was signed
};

struct BootStepRecord {
  int64_t sequence = 0;  // set by the store
  std::string boot_id;
  std::string node;
  int phase = 0;  // v1::BootPhase
  std::string detail;
  absl::Time time;
};

// What is on a node's disk, as far as it was seen.
struct BootDiskRecord {
  std::string node;
  std::string boot_id;  // of the boot that wrote it
  std::string mac;      // the machine that made it; "": not known
  std::string what;     // "debian-worker-disk@1a2b3c4d5e6f"
  std::string image;    // its digest
  absl::Time written_at;
  int outcome = 0;         // v1::BootPhase, HEALTHY or FALLEN_BACK; 0: not known yet
  bool is_signed = false;  // what firmware starts from it
};

class BootTable {
 public:
  virtual ~BootTable() = default;
  // Inserts or replaces by node.
  virtual absl::Status PutOrder(const BootOrderRecord& order) = 0;
  // Removes the node's order if it is still this one.
  virtual absl::Status RemoveOrder(absl::string_view node, absl::string_view order_id) = 0;
  virtual absl::StatusOr<std::vector<BootOrderRecord>> ListOrders() = 0;

  // Inserts or replaces by node.
  virtual absl::Status PutDisk(const BootDiskRecord& disk) = 0;
  // Does nothing where nothing is known of the node's disk.
  virtual absl::Status RemoveDisk(absl::string_view node) = 0;
  virtual absl::StatusOr<std::vector<BootDiskRecord>> ListDisks() = 0;

  // Adds a boot, and removes all but the newest `keep` of its node with their steps.
  virtual absl::Status Append(const BootRecord& boot, uint32_t keep) = 0;
  // Does nothing where the boot is not there any more.
  virtual absl::Status AppendStep(const BootStepRecord& step) = 0;
  // When the newest boot of the node began. NotFound: none is known.
  virtual absl::StatusOr<absl::Time> NewestOf(absl::string_view node) = 0;
  // When the last step of the node's newest boot was seen. NotFound: none is known.
  virtual absl::StatusOr<absl::Time> NewestStepOf(absl::string_view node) = 0;
  // The newest boot of each node.
  virtual absl::StatusOr<std::vector<BootRecord>> ListNewest() = 0;
  // The steps of those, oldest first.
  virtual absl::StatusOr<std::vector<BootStepRecord>> ListNewestSteps() = 0;
  // The steps of all boots: newest first below the sequence, oldest first above it.
  virtual absl::StatusOr<std::vector<BootStepRecord>> ListStepsBefore(uint64_t sequence,
                                                                      uint32_t limit) = 0;
  virtual absl::StatusOr<std::vector<BootStepRecord>> ListStepsAfter(uint64_t sequence,
                                                                     uint32_t limit) = 0;
};

}  // namespace muster::controller
