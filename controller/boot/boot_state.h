// What nodes' last boots were seen to do, which orders are open, and what disks hold. Pure: the
// engine in boots.h asks it, and stores what has changed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "controller/boot/decision.h"
#include "controller/store/tables.h"
#include "muster/v1/boot.pb.h"

namespace muster::v1 {
class Image;
class ImageArtifact;
}  // namespace muster::v1

namespace muster::controller::boot {

// A node's last boot.
struct CurrentBoot {
  BootRecord boot;
  UsedUpBy used_up_by = UsedUpBy::kNever;
  std::string root_sha256;            // of the image
  uint64_t root_bytes = 0;            // the same
  std::string rack;                   // of the node; "" after a restart
  bool is_for_disk = false;           // the image is written to a disk
  std::vector<BootStepRecord> steps;  // each phase once
};

// Something for the store.
struct BootChange {
  std::optional<BootRecord> boot;
  std::optional<BootStepRecord> step;
  std::optional<BootOrderRecord> used_up;
  std::optional<BootDiskRecord> disk;
  std::optional<std::string> forgotten;  // the node whose disk is not known any more
};

bool IsForDisk(const v1::Image& image);
// Its root; an empty one where it has none.
v1::ImageArtifact RootOf(const v1::Image& image);

// Not thread-safe. Every change is given to `keep`, in the order in which they are to be stored.
class BootState {
 public:
  // The same machine that asks again so soon, and gets the same answer, is in the same boot.
  static constexpr absl::Duration kSameBoot = absl::Seconds(10);

  explicit BootState(std::function<void(BootChange)> keep) : keep_(std::move(keep)) {}

  // What an earlier process left.
  struct Stored {
    std::vector<BootOrderRecord> orders;
    std::vector<BootRecord> boots;
    std::vector<BootStepRecord> steps;
    std::vector<BootDiskRecord> disks;
  };
  // `image_of`: the image of a digest; nullptr: it is not kept any more.
  void Load(Stored stored,
            const std::function<std::shared_ptr<const v1::Image>(const std::string&)>& image_of);

  // nullptr: there is none.
  const BootOrderRecord* OrderOf(const std::string& node) const;
  const BootDiskRecord* DiskOf(const std::string& node) const;
  const CurrentBoot* LastOf(const std::string& node) const;
  // The last boot of a node that has this id.
  const CurrentBoot* Find(const std::string& boot_id) const;

  // Orders that were stored already.
  void PutOrder(BootOrderRecord order);
  void RemoveOrder(const std::string& node) { orders_.erase(node); }
  // What is on the disk under this name is not known any more.
  void ForgetDisk(const std::string& node);

  // Begins a boot, whose time is set here, unless it is the same as the node's last one. Returns
  // the id of the one or the other. `trouble`: why nothing can be booted; "": something can.
  std::string Begin(CurrentBoot begun, const std::string& trouble, absl::Time now);
  // The last byte of it was sent.
  void OnScriptSent(const std::string& boot_id, absl::Time now);
  void OnArtifactSent(const std::string& boot_id, absl::string_view image,
                      absl::string_view artifact, absl::Time now);
  // See Boots.
  absl::Status OnReport(const std::string& boot_id, v1::BootPhase phase, const std::string& found,
                        absl::Time now);

 private:
  CurrentBoot* FindMutable(const std::string& boot_id);
  void AddStep(CurrentBoot& current, v1::BootPhase phase, std::string detail, absl::Time now);
  void OnWritten(const CurrentBoot& current, absl::Time now);
  absl::Status OnDiskOutcome(const std::string& boot_id, v1::BootPhase phase, absl::Time now);
  void UseUp(const CurrentBoot& current);

  const std::function<void(BootChange)> keep_;
  std::map<std::string, BootOrderRecord> orders_;           // by node
  absl::flat_hash_map<std::string, CurrentBoot> current_;   // by node
  absl::flat_hash_map<std::string, std::string> nodes_;     // by boot's id
  absl::flat_hash_map<std::string, BootDiskRecord> disks_;  // by node
};

}  // namespace muster::controller::boot
