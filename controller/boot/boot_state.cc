#include "controller/boot/boot_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/value/image_manifest.h"
#include "muster/v1/image.pb.h"

namespace muster::controller::boot {
namespace {

v1::BootPhase PhaseOf(absl::string_view artifact) {
  if (artifact == "kernel" || artifact == kSignedArtifact) return v1::BOOT_PHASE_KERNEL;
  return artifact == "initrd" ? v1::BOOT_PHASE_INITRD : v1::BOOT_PHASE_ROOT;
}

}  // namespace

bool IsForDisk(const v1::Image& image) { return image.manifest().kind() == "disk"; }

v1::ImageArtifact RootOf(const v1::Image& image) {
  const v1::ImageArtifact* const root = FindArtifact(image, kRootArtifact);
  return root == nullptr ? v1::ImageArtifact() : *root;
}

void BootState::Load(
    Stored stored,
    const std::function<std::shared_ptr<const v1::Image>(const std::string&)>& image_of) {
  for (BootOrderRecord& order : stored.orders) PutOrder(std::move(order));
  for (BootRecord& boot : stored.boots) {
    CurrentBoot& current = current_[boot.node];
    nodes_[boot.boot_id] = boot.node;
    const std::shared_ptr<const v1::Image> image = image_of(boot.image);
    current.is_for_disk = image != nullptr && IsForDisk(*image);
    if (image != nullptr) {
      const v1::ImageArtifact root = RootOf(*image);
      current.root_sha256 = root.sha256();
      current.root_bytes = root.size_bytes();
    }
    const BootOrderRecord* const order = OrderOf(boot.node);
    if (order != nullptr && order->order_id == boot.order_id)
      current.used_up_by =
          WhatUsesUp({.image = boot.image, .source = Decision::Source::kOrder, .once = order->once},
                     current.is_for_disk);
    current.boot = std::move(boot);
  }
  for (BootStepRecord& step : stored.steps) current_[step.node].steps.push_back(std::move(step));
  for (BootDiskRecord& disk : stored.disks) disks_[disk.node] = std::move(disk);
}

const BootOrderRecord* BootState::OrderOf(const std::string& node) const {
  const auto found = orders_.find(node);
  return found == orders_.end() ? nullptr : &found->second;
}

const BootDiskRecord* BootState::DiskOf(const std::string& node) const {
  const auto found = disks_.find(node);
  return found == disks_.end() ? nullptr : &found->second;
}

const CurrentBoot* BootState::LastOf(const std::string& node) const {
  const auto found = current_.find(node);
  // Steps of a boot that the store has lost make a boot without an id.
  return found == current_.end() || found->second.boot.boot_id.empty() ? nullptr : &found->second;
}

CurrentBoot* BootState::FindMutable(const std::string& boot_id) {
  const auto node = nodes_.find(boot_id);
  if (node == nodes_.end()) return nullptr;
  const auto current = current_.find(node->second);
  return current == current_.end() ? nullptr : &current->second;
}

const CurrentBoot* BootState::Find(const std::string& boot_id) const {
  const auto node = nodes_.find(boot_id);
  return node == nodes_.end() ? nullptr : LastOf(node->second);
}

void BootState::PutOrder(BootOrderRecord order) {
  std::string node = order.node;
  orders_.insert_or_assign(std::move(node), std::move(order));
}

void BootState::ForgetDisk(const std::string& node) {
  if (disks_.erase(node) > 0) keep_({.forgotten = node});
}

std::string BootState::Begin(CurrentBoot begun, const std::string& trouble, absl::Time now) {
  CurrentBoot& current = current_[begun.boot.node];
  const BootRecord& last = current.boot;
  const bool is_same = !last.boot_id.empty() && now - last.began_at < kSameBoot &&
                       last.mac == begun.boot.mac && last.what == begun.boot.what &&
                       last.image == begun.boot.image && last.order_id == begun.boot.order_id;
  if (is_same) return last.boot_id;
  nodes_.erase(last.boot_id);
  begun.boot.began_at = now;
  current = std::move(begun);
  nodes_[current.boot.boot_id] = current.boot.node;
  keep_({.boot = current.boot});
  if (!trouble.empty()) AddStep(current, v1::BOOT_PHASE_NO_IMAGE, trouble, now);
  return current.boot.boot_id;
}

void BootState::AddStep(CurrentBoot& current, v1::BootPhase phase, std::string detail,
                        absl::Time now) {
  const bool is_known =
      std::any_of(current.steps.begin(), current.steps.end(),
                  [&](const BootStepRecord& step) { return step.phase == phase; });
  if (is_known) return;
  current.steps.push_back({.boot_id = current.boot.boot_id,
                           .node = current.boot.node,
                           .phase = phase,
                           .detail = std::move(detail),
                           .time = now});
  keep_({.step = current.steps.back()});
}

void BootState::UseUp(const CurrentBoot& current) {
  const auto order = orders_.find(current.boot.node);
  if (order == orders_.end() || order->second.order_id != current.boot.order_id) return;
  keep_({.used_up = order->second});
  orders_.erase(order);
}

void BootState::OnScriptSent(const std::string& boot_id, absl::Time now) {
  CurrentBoot* const current = FindMutable(boot_id);
  if (current == nullptr) return;
  AddStep(*current, v1::BOOT_PHASE_SCRIPT, absl::StrCat("is to boot ", current->boot.what), now);
  if (current->used_up_by == UsedUpBy::kScript) UseUp(*current);
}

void BootState::OnArtifactSent(const std::string& boot_id, absl::string_view image,
                               absl::string_view artifact, absl::Time now) {
  CurrentBoot* const current = FindMutable(boot_id);
  // The loader is for the disk, when all of this boot is over.
  if (current == nullptr || current->boot.image != image || artifact == kLoaderArtifact) return;
  const v1::BootPhase phase = PhaseOf(artifact);
  AddStep(*current, phase, "", now);
  if (phase == v1::BOOT_PHASE_ROOT && current->used_up_by == UsedUpBy::kRoot) UseUp(*current);
}

absl::Status BootState::OnReport(const std::string& boot_id, v1::BootPhase phase,
                                 const std::string& found, absl::Time now) {
  if (phase == v1::BOOT_PHASE_HEALTHY || phase == v1::BOOT_PHASE_FALLEN_BACK)
    return OnDiskOutcome(boot_id, phase, now);
  CurrentBoot* const current = FindMutable(boot_id);
  const bool is_of_disk = phase == v1::BOOT_PHASE_WRITTEN || phase == v1::BOOT_PHASE_NOT_WRITTEN;
  if (current == nullptr || current->boot.image.empty() || (is_of_disk && !current->is_for_disk))
    return absl::NotFoundError("this boot is not known");
  std::string detail;
  if (phase == v1::BOOT_PHASE_NOT_WRITTEN || phase == v1::BOOT_PHASE_DENIED ||
      phase == v1::BOOT_PHASE_NO_MEMORY)
    detail = found;
  if (phase == v1::BOOT_PHASE_WRITTEN) {
    detail = absl::StrCat("the disk holds ", current->boot.what);
    OnWritten(*current, now);
  }
  if (phase == v1::BOOT_PHASE_REFUSED)
    detail =
        absl::StrCat("the root has the digest ", found, ", but is to have ", current->root_sha256);
  AddStep(*current, phase, std::move(detail), now);
  return absl::OkStatus();
}

void BootState::OnWritten(const CurrentBoot& current, absl::Time now) {
  const BootDiskRecord* const known = DiskOf(current.boot.node);
  if (known != nullptr && known->boot_id == current.boot.boot_id) return;
  BootDiskRecord& disk = disks_[current.boot.node];
  disk = {.node = current.boot.node,
          .boot_id = current.boot.boot_id,
          .mac = current.boot.mac,
          .what = current.boot.what,
          .image = current.boot.image,
          .written_at = now,
          .is_signed = current.boot.is_signed};
  keep_({.disk = disk});
  if (current.used_up_by == UsedUpBy::kWritten) UseUp(current);
}

absl::Status BootState::OnDiskOutcome(const std::string& boot_id, v1::BootPhase phase,
                                      absl::Time now) {
  const auto disk = std::find_if(disks_.begin(), disks_.end(),
                                 [&](const auto& each) { return each.second.boot_id == boot_id; });
  if (disk == disks_.end()) return absl::NotFoundError("this boot is not known");
  BootDiskRecord& record = disk->second;
  if (record.outcome != 0) return absl::OkStatus();  // each is told once
  record.outcome = phase;
  keep_({.disk = record});
  const std::string detail =
      phase == v1::BOOT_PHASE_HEALTHY
          ? absl::StrCat("runs ", record.what, " from its disk")
          : absl::StrCat("did not come up with ", record.what, " and runs the image before it");
  if (CurrentBoot* const current = FindMutable(boot_id); current != nullptr) {
    AddStep(*current, phase, detail, now);
  } else {
    keep_({.step = BootStepRecord{.boot_id = boot_id,
                                  .node = record.node,
                                  .phase = phase,
                                  .detail = detail,
                                  .time = now}});
  }
  return absl::OkStatus();
}

}  // namespace muster::controller::boot
