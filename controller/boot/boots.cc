#include "controller/boot/boots.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/clock.h"
#include "common/base/id.h"
#include "common/base/proto_time.h"
#include "common/base/status.h"
#include "common/base/text/counted.h"
#include "common/base/text/disk_image.h"
#include "common/base/text/hostlist.h"
#include "common/value/ethernet_ports.h"
#include "common/value/image_manifest.h"
#include "controller/audit/audit.h"
#include "controller/image/image_store.h"
#include "controller/inventory/inventory.h"
#include "controller/inventory/self_join.h"
#include "controller/store/store.h"
#include "controller/store/tables.h"

namespace muster::controller::boot {
namespace {

constexpr absl::Duration kStoreRetry = absl::Seconds(5);
// In one transaction.
constexpr size_t kMaxAtOnce = 1000;

// An image that a machine can boot over the network.
absl::StatusOr<image::ImageStore::ImagePtr> FindBootable(const image::ImageStore& images,
                                                         const std::string& reference) {
  ASSIGN_OR_RETURN(image::ImageStore::ImagePtr found, images.Find(reference));
  for (const char* name : {"kernel", "initrd", kRootArtifact}) {
    if (FindArtifact(*found, name) == nullptr)
      return absl::FailedPreconditionError(
          absl::StrCat(BuildName(*found), " has no ", name, ", so it cannot boot a machine"));
  }
  return found;
}

// Whether the disk holds what the reference means. Of a build that is not here any more the disk's
// record tells it, and a name that means no build here means whichever of that name is on the disk.
bool HoldsImage(const BootDiskRecord& disk, const std::string& reference,
                const absl::StatusOr<image::ImageStore::ImagePtr>& image) {
  if (image.ok()) return IsForDisk(**image) && disk.image == (*image)->digest();
  const std::string name = disk.what.substr(0, disk.what.find('@'));
  if (!absl::StrContains(reference, '@')) return reference == name;
  return IsSameBuild(absl::StrCat(name, "@", disk.image), reference);
}

// Whether the disk is in the machine that is the node now. A machine that has taken the place of
// another one has other addresses, and another disk.
bool IsOf(const BootDiskRecord& disk, const Node& node) {
  return disk.mac.empty() ||
         std::find(node.macs.begin(), node.macs.end(), disk.mac) != node.macs.end();
}

// The node that has one of the addresses, and no other one has. FailedPrecondition: there is none.
absl::StatusOr<const Node*> NodeOf(const Inventory& inventory,
                                   const std::vector<std::string>& macs) {
  const Node* node = nullptr;
  for (const std::string& mac : macs) {
    const Node* const found = inventory.FindMac(mac);
    if (found == nullptr || found == node) continue;
    if (node != nullptr)
      return absl::FailedPreconditionError(absl::StrCat(
          "the MAC addresses of this machine belong to ", node->name, " and to ", found->name));
    node = found;
  }
  if (node != nullptr) return node;
  return absl::FailedPreconditionError("no node has any of this machine's MAC addresses");
}

std::vector<std::string> NamesOf(const std::vector<BootOrderRecord>& orders) {
  std::vector<std::string> names;
  for (const BootOrderRecord& order : orders) names.push_back(order.node);
  return names;
}

}  // namespace

Boots::Boots(Means means)
    : means_(std::move(means)),
      state_([this](BootChange change) {
        mutex_.AssertHeld();
        Wait(std::move(change));
      }),
      worker_(means_.clock, [this] { return Step(); }) {}

Boots::~Boots() { Stop(); }

absl::Status Boots::Start() {
  RETURN_IF_ERROR(Load());
  worker_.Start();
  return absl::OkStatus();
}

void Boots::Stop() {
  worker_.Stop();
  // There is no later try to wait for.
  retry_at_ = absl::InfinitePast();
  for (size_t i = 0; i <= kMaxWaiting / kMaxAtOnce; ++i) Step();
}

absl::Status Boots::Load() {
  BootState::Stored stored;
  RETURN_IF_ERROR(means_.store.View([&](Transaction& txn) -> absl::Status {
    ASSIGN_OR_RETURN(stored.orders, txn.boots().ListOrders());
    ASSIGN_OR_RETURN(stored.boots, txn.boots().ListNewest());
    ASSIGN_OR_RETURN(stored.steps, txn.boots().ListNewestSteps());
    ASSIGN_OR_RETURN(stored.disks, txn.boots().ListDisks());
    return absl::OkStatus();
  }));
  absl::MutexLock lock(&mutex_);
  state_.Load(std::move(stored), [this](const std::string& digest) {
    return means_.images.Get(digest).value_or(nullptr);
  });
  return absl::OkStatus();
}

absl::Time Boots::Step() {
  const absl::Time now = means_.clock.Now();
  const bool is_set_back = retry_at_ - now > kStoreRetry;
  if (now < retry_at_ && !is_set_back) return retry_at_;
  std::vector<BootChange> changes;
  {
    absl::MutexLock lock(&mutex_);
    const size_t count = std::min(waiting_.size(), kMaxAtOnce);
    changes.assign(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
  }
  if (changes.empty()) return absl::InfiniteFuture();
  const absl::Status stored = means_.store.Update([&](Transaction& txn) -> absl::Status {
    for (const BootChange& change : changes) {
      if (change.boot.has_value()) RETURN_IF_ERROR(txn.boots().Append(*change.boot, kKept));
      if (change.step.has_value()) RETURN_IF_ERROR(txn.boots().AppendStep(*change.step));
      if (change.used_up.has_value())
        RETURN_IF_ERROR(txn.boots().RemoveOrder(change.used_up->node, change.used_up->order_id));
      if (change.disk.has_value()) RETURN_IF_ERROR(txn.boots().PutDisk(*change.disk));
      if (change.forgotten.has_value()) RETURN_IF_ERROR(txn.boots().RemoveDisk(*change.forgotten));
    }
    return absl::OkStatus();
  });
  if (!stored.ok()) {
    means_.warn(absl::StrCat("steps of network boots wait for the store: ", stored.message()));
    return retry_at_ = now + kStoreRetry;
  }
  absl::MutexLock lock(&mutex_);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(changes.size()));
  return waiting_.empty() ? absl::InfiniteFuture() : now;
}

void Boots::Wait(BootChange change) {
  // An order that is used up must not come back with the next start, nor an image be written twice,
  // or never.
  if (waiting_.size() >= kMaxWaiting && !change.used_up.has_value() && !change.disk.has_value() &&
      !change.forgotten.has_value()) {
    ++dropped_;
    return;
  }
  waiting_.push_back(std::move(change));
  worker_.Wake();
}

absl::StatusOr<Boots::InventoryPtr> Boots::ReadInventory() const {
  absl::StatusOr<InventoryPtr> inventory = means_.inventory();
  if (inventory.ok()) return inventory;
  if (absl::IsNotFound(inventory.status())) return nullptr;
  return absl::UnavailableError(inventory.status().message());
}

Answer Boots::AnswerStranger(const Inventory& inventory) const {
  Answer answer;
  answer.what = BootOfUnknown(inventory);
  if (answer.what.empty()) return answer;
  auto image = FindBootable(means_.images, answer.what);
  // A disk is written where the inventory says so, and it says nothing of this machine.
  if (image.ok() && IsForDisk(**image))
    image = absl::FailedPreconditionError("it is an image of the kind disk, not ram");
  if (!image.ok()) {
    answer.trouble = std::string(image.status().message());
    return answer;
  }
  if (SignedChoiceOfUnknown(inventory).is_signed) {
    absl::StatusOr<std::string> line = SignedLineOf(**image);
    if (!line.ok()) {
      answer.trouble = std::string(line.status().message());
      return answer;
    }
    answer.command_line = *std::move(line);
  }
  answer.what = BuildName(**image);
  answer.image = *std::move(image);
  return answer;
}

absl::StatusOr<std::string> Boots::CommandLineOf(const v1::Image& image) const {
  ASSIGN_OR_RETURN(const std::string server, BootServerUrl(means_.listen));
  return SignedCommandLine(image, server, means_.join);
}

absl::StatusOr<std::string> Boots::SignedLineOf(const v1::Image& image) const {
  ASSIGN_OR_RETURN(std::string line, CommandLineOf(image));
  RETURN_IF_ERROR(CheckSigned(image, line));
  return line;
}

absl::StatusOr<BootWords> Boots::WordsOf(const std::string& mac, absl::string_view root_sha256) {
  ASSIGN_OR_RETURN(const InventoryPtr inventory, ReadInventory());
  const Node* const node = inventory == nullptr ? nullptr : inventory->FindMac(mac);
  const absl::Status other = absl::NotFoundError("this machine is not to boot this root");
  absl::MutexLock lock(&mutex_);
  if (node == nullptr) {
    const Answer answer = inventory == nullptr ? Answer() : AnswerStranger(*inventory);
    if (answer.image == nullptr || RootOf(*answer.image).sha256() != root_sha256) return other;
    return BootWords{.node = "",
                     .image = answer.image->digest(),
                     .boot_id = "",
                     .root_bytes = RootOf(*answer.image).size_bytes(),
                     .enrolls = SignedChoiceOfUnknown(*inventory).enrolls,
                     .discovery_mac = mac};
  }
  const CurrentBoot* const last = state_.LastOf(node->name);
  if (last == nullptr || last->boot.image.empty() || last->root_sha256 != root_sha256) return other;
  const BootDefault written = BootDefaultOf(*inventory, *node);
  return BootWords{.node = NameToJoin(*inventory, *node),
                   .image = last->boot.image,
                   .boot_id = last->boot.boot_id,
                   .root_bytes = last->root_bytes,
                   .has_peers = written.has_peers,
                   .enrolls = written.signed_choice.enrolls,
                   .is_for_disk = last->is_for_disk,
                   .discovery_mac = ""};
}

absl::StatusOr<DiskOrder> Boots::DiskOrderOf(const std::vector<std::string>& macs,
                                             absl::string_view root_sha256) {
  ASSIGN_OR_RETURN(const InventoryPtr inventory, ReadInventory());
  if (inventory == nullptr) return absl::FailedPreconditionError("there is no inventory yet");
  ASSIGN_OR_RETURN(const Node* const node, NodeOf(*inventory, macs));
  absl::MutexLock lock(&mutex_);
  const CurrentBoot* const last = state_.LastOf(node->name);
  const BootDefault written = BootDefaultOf(*inventory, *node);
  if (last == nullptr || !last->is_for_disk || last->root_sha256 != root_sha256 ||
      !written.signed_choice.is_signed)
    return absl::FailedPreconditionError(
        absl::StrCat(node->name, " is not to boot this image for disks, signed"));
  const BootDiskRecord* const disk = state_.DiskOf(node->name);
  if (disk != nullptr && disk->boot_id == last->boot.boot_id)
    return absl::FailedPreconditionError(
        absl::StrCat("the disk of ", node->name, " holds ", disk->what, " already"));
  const auto image = means_.images.Get(last->boot.image);
  if (!image.ok()) return absl::FailedPreconditionError(image.status().message());
  RETURN_IF_ERROR(SignedLineOf(**image).status());
  return DiskOrder{.image = *image, .device = written.disk, .node = NameToJoin(*inventory, *node)};
}

absl::StatusOr<bool> Boots::OnDiscovery(const std::string& mac, absl::string_view peer,
                                        const v1::Facts& facts, absl::Duration up_for) {
  ASSIGN_OR_RETURN(const InventoryPtr inventory, ReadInventory());
  const bool is_node = inventory != nullptr && inventory->FindMac(mac) != nullptr;
  if (!is_node && (inventory == nullptr || BootOfUnknown(*inventory).empty()))
    return absl::NotFoundError("the inventory has no `boot_unknown`");
  absl::MutexLock lock(&mutex_);
  if (is_node) {
    unknown_.Remove(mac);
  } else {
    unknown_.Tell(mac, peer, facts.SerializeAsString(), up_for, means_.clock.Now());
  }
  return is_node;
}

std::string Boots::JoinOf(const Inventory& inventory, const Node& node,
                          const Decision& decision) const {
  // Whoever looks at a machine in its rescue image wants no node.
  if (decision.choice.kind != BootChoice::Kind::kImage ||
      SelfJoinOf(inventory, node).mode == SelfJoin::Mode::kNo)
    return "";
  JoinWord join = means_.join;
  join.node = node.name;
  return join.ToString();
}

std::string Boots::NameToJoin(const Inventory& inventory, const Node& node) const {
  const Decision decision = Decide(inventory, node, state_.OrderOf(node.name));
  return JoinOf(inventory, node, decision).empty() ? "" : node.name;
}

absl::StatusOr<Answer> Boots::Begin(const std::string& mac, absl::string_view peer) {
  ASSIGN_OR_RETURN(const InventoryPtr inventory, ReadInventory());
  const absl::Time now = means_.clock.Now();
  const Node* const node = inventory == nullptr ? nullptr : inventory->FindMac(mac);
  if (node != nullptr) means_.on_boot(node->name);
  absl::MutexLock lock(&mutex_);
  if (node == nullptr) {
    unknown_.Add(mac, peer, now);
    return inventory == nullptr ? Answer() : AnswerStranger(*inventory);
  }
  unknown_.Remove(mac);
  const Decision decision = Decide(*inventory, *node, state_.OrderOf(node->name));
  Answer answer;
  answer.node = node->name;
  answer.kind = decision.image.empty() ? Answer::Kind::kDisk : Answer::Kind::kImage;
  answer.what = "disk";
  if (!decision.image.empty()) {
    auto image = FindBootable(means_.images, decision.image);
    answer.what = image.ok() ? BuildName(**image) : decision.image;
    const BootDefault written = BootDefaultOf(*inventory, *node);
    const BootDiskRecord* const disk = state_.DiskOf(node->name);
    // A disk that boots what was not signed is written anew for a node that is to boot nothing
    // else.
    const bool is_there = disk != nullptr && IsOf(*disk, *node) &&
                          HoldsImage(*disk, decision.image, image) &&
                          (disk->is_signed || !written.signed_choice.is_signed);
    if (image.ok() && written.signed_choice.is_signed) {
      const absl::StatusOr<std::string> line = SignedLineOf(**image);
      if (line.ok()) {
        answer.command_line = *line;
      } else {
        image = line.status();
      }
    }
    // The inventory says what the disk is to hold, and such a disk boots whether the controller
    // could write it once more or not; an order says that it is written.
    if (is_there && decision.source == Decision::Source::kInventory) {
      answer.kind = Answer::Kind::kDisk;
      answer.what = "disk";
    } else if (image.ok()) {
      answer.is_for_disk = IsForDisk(**image);
      if (answer.is_for_disk) answer.disk = written.disk;
      answer.has_peers = written.has_peers;
      answer.image = *std::move(image);
      answer.join = JoinOf(*inventory, *node, decision);
    } else {
      answer.kind = Answer::Kind::kNoImage;
      answer.trouble = std::string(image.status().message());
    }
  }
  CurrentBoot begun;
  begun.boot.boot_id = NewUuid();
  begun.boot.node = node->name;
  begun.boot.mac = mac;
  begun.boot.what = answer.what;
  begun.boot.order_id = decision.order_id;
  begun.used_up_by = WhatUsesUp(decision, answer.is_for_disk);
  begun.rack = node->rack;
  begun.is_for_disk = answer.is_for_disk;
  begun.boot.is_signed = !answer.command_line.empty();
  if (answer.image != nullptr) {
    begun.boot.image = answer.image->digest();
    const v1::ImageArtifact root = RootOf(*answer.image);
    begun.root_sha256 = root.sha256();
    begun.root_bytes = root.size_bytes();
  }
  answer.boot_id = state_.Begin(std::move(begun), answer.trouble, now);
  return answer;
}

void Boots::OnScriptSent(const std::string& boot_id) {
  absl::MutexLock lock(&mutex_);
  state_.OnScriptSent(boot_id, means_.clock.Now());
}

void Boots::OnArtifactSent(const std::string& boot_id, absl::string_view image,
                           absl::string_view artifact) {
  absl::MutexLock lock(&mutex_);
  state_.OnArtifactSent(boot_id, image, artifact, means_.clock.Now());
}

absl::StatusOr<std::string> Boots::RackOf(const std::string& boot_id, absl::string_view image) {
  absl::MutexLock lock(&mutex_);
  const CurrentBoot* const current = state_.Find(boot_id);
  if (current == nullptr || current->boot.image != image)
    return absl::NotFoundError("this boot is not known");
  return current->rack;
}

absl::Status Boots::OnReport(const std::string& boot_id, v1::BootPhase phase,
                             const std::string& found) {
  absl::MutexLock lock(&mutex_);
  return state_.OnReport(boot_id, phase, found, means_.clock.Now());
}

absl::Status Boots::CheckChoice(const Inventory& inventory, const Node& node,
                                const BootChoice& choice) const {
  if (node.macs.empty())
    return absl::InvalidArgumentError(
        absl::StrCat("node ", node.name,
                     " has no MAC address, by which the boot server would know it; write its "
                     "'mac' into the inventory"));
  BootOrderRecord order;
  order.choice = choice.ToString();
  const Decision decision = Decide(inventory, node, &order);
  if (decision.image.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto image, FindBootable(means_.images, decision.image));
  if (!BootDefaultOf(inventory, node).signed_choice.is_signed) return absl::OkStatus();
  return Annotate(SignedLineOf(*image).status(),
                  absl::StrCat("node ", node.name, ", image ", BuildName(*image)));
}

absl::Status Boots::Set(const Inventory& inventory, const std::vector<const Node*>& nodes,
                        const BootChoice& choice, bool once, const Actor& actor) {
  for (const Node* node : nodes) RETURN_IF_ERROR(CheckChoice(inventory, *node, choice));
  const absl::Time now = means_.clock.Now();
  std::vector<BootOrderRecord> orders;
  for (const Node* node : nodes) {
    orders.push_back({.node = node->name,
                      .order_id = NewUuid(),
                      .choice = choice.ToString(),
                      .once = once,
                      .ordered_by = actor.name,
                      .ordered_at = now});
  }
  return PutOrders(std::move(orders), actor, [](Transaction&) { return absl::OkStatus(); });
}

absl::Status Boots::PutOrders(std::vector<BootOrderRecord> orders, const Actor& actor,
                              absl::FunctionRef<absl::Status(Transaction&)> also) {
  const BootOrderRecord& first = orders.front();
  absl::MutexLock ordering(&ordering_);
  RETURN_IF_ERROR(means_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(Audit(txn, first.ordered_at, actor, "boot.set", FoldHostlist(NamesOf(orders)),
                          absl::StrCat(first.choice, first.once ? ", once" : "")));
    for (const BootOrderRecord& order : orders) RETURN_IF_ERROR(txn.boots().PutOrder(order));
    return also(txn);
  }));
  absl::MutexLock lock(&mutex_);
  for (BootOrderRecord& order : orders) state_.PutOrder(std::move(order));
  return absl::OkStatus();
}

absl::Status Boots::OrderForDisk(const std::string& order_id, const std::string& node,
                                 const std::string& image, const Actor& actor,
                                 absl::FunctionRef<absl::Status(Transaction&)> also) {
  ASSIGN_OR_RETURN(const InventoryPtr inventory, ReadInventory());
  const Node* const known = inventory == nullptr ? nullptr : inventory->FindNode(node);
  if (known == nullptr)
    return absl::NotFoundError(absl::StrCat("node ", node, " is not in the inventory any more"));
  const std::optional<BootChoice> choice = ParseBootChoice(image);
  if (!choice.has_value() || choice->kind != BootChoice::Kind::kImage)
    return absl::InvalidArgumentError(absl::StrCat("'", image, "' names no image"));
  ASSIGN_OR_RETURN(const auto found, FindBootable(means_.images, image));
  if (!IsForDisk(*found)) {
    return absl::FailedPreconditionError(
        absl::StrCat(BuildName(*found), " is an image of the kind ", found->manifest().kind(),
                     ", not disk: a node that boots it leaves its disk, and its identity with it"));
  }
  RETURN_IF_ERROR(CheckChoice(*inventory, *known, *choice));
  return PutOrders({{.node = node,
                     .order_id = order_id,
                     .choice = choice->ToString(),
                     .once = true,
                     .ordered_by = actor.name,
                     .ordered_at = means_.clock.Now()}},
                   actor, also);
}

absl::Status Boots::TakeBack(const std::string& order_id, const std::string& node) {
  absl::MutexLock ordering(&ordering_);
  std::vector<BootOrderRecord> orders;
  {
    absl::MutexLock lock(&mutex_);
    const BootOrderRecord* const order = state_.OrderOf(node);
    if (order == nullptr || order->order_id != order_id) return absl::OkStatus();
    orders.push_back(*order);
  }
  return RemoveOrders(orders, ControllerActor(),
                      absl::StrCat(orders[0].choice, " was for a reboot that is over"));
}

void Boots::ForgetDisks(const std::vector<std::string>& nodes) {
  absl::MutexLock lock(&mutex_);
  for (const std::string& node : nodes) state_.ForgetDisk(node);
}

absl::StatusOr<std::vector<std::string>> Boots::Clear(const std::vector<const Node*>& nodes,
                                                      const Actor& actor) {
  absl::MutexLock ordering(&ordering_);
  std::vector<BootOrderRecord> orders;
  {
    absl::MutexLock lock(&mutex_);
    for (const Node* node : nodes) {
      if (const BootOrderRecord* const order = state_.OrderOf(node->name); order != nullptr)
        orders.push_back(*order);
    }
  }
  if (!orders.empty()) RETURN_IF_ERROR(RemoveOrders(orders, actor, ""));
  return NamesOf(orders);
}

absl::Status Boots::RemoveOrders(const std::vector<BootOrderRecord>& orders, const Actor& actor,
                                 absl::string_view why) {
  RETURN_IF_ERROR(means_.store.Update([&](Transaction& txn) -> absl::Status {
    RETURN_IF_ERROR(
        Audit(txn, means_.clock.Now(), actor, "boot.clear", FoldHostlist(NamesOf(orders)), why));
    for (const BootOrderRecord& order : orders)
      RETURN_IF_ERROR(txn.boots().RemoveOrder(order.node, order.order_id));
    return absl::OkStatus();
  }));
  absl::MutexLock lock(&mutex_);
  for (const BootOrderRecord& order : orders) state_.RemoveOrder(order.node);
  return absl::OkStatus();
}

v1::NodeBoot Boots::Describe(const Inventory& inventory, const Node& node) {
  absl::MutexLock lock(&mutex_);
  const BootOrderRecord* const order = state_.OrderOf(node.name);
  const Decision decision = Decide(inventory, node, order);
  v1::NodeBoot described;
  described.set_node(node.name);
  for (const std::string& mac : node.macs) described.add_macs(mac);
  described.set_next(decision.choice.ToString());
  if (decision.source == Decision::Source::kInventory)
    described.set_source(v1::BOOT_SOURCE_INVENTORY);
  if (decision.source == Decision::Source::kOrder) {
    described.set_source(v1::BOOT_SOURCE_ORDER);
    described.set_once(decision.once);
    described.set_ordered_by(order->ordered_by);
    *described.mutable_ordered_at() = ToTimestamp(order->ordered_at);
  }
  if (const BootDiskRecord* const disk = state_.DiskOf(node.name);
      disk != nullptr && IsOf(*disk, node))
    described.set_disk(disk->what);
  const CurrentBoot* const current = state_.LastOf(node.name);
  if (current == nullptr) return described;
  v1::Boot& last = *described.mutable_last();
  last.set_boot_id(current->boot.boot_id);
  last.set_mac(current->boot.mac);
  last.set_what(current->boot.what);
  last.set_writes_disk(current->is_for_disk);
  for (const BootStepRecord& each : current->steps) {
    v1::BootStep& step = *last.add_steps();
    step.set_phase(static_cast<v1::BootPhase>(each.phase));
    *step.mutable_time() = ToTimestamp(each.time);
    step.set_detail(each.detail);
  }
  return described;
}

v1::ListUnknownMachinesResponse Boots::ListUnknown() {
  v1::ListUnknownMachinesResponse response;
  const absl::StatusOr<InventoryPtr> inventory = ReadInventory();
  if (inventory.ok() && *inventory != nullptr) {
    const Answer answer = AnswerStranger(**inventory);
    if (!answer.trouble.empty())
      response.set_trouble(absl::StrCat("boot_unknown: ", answer.what, ": ", answer.trouble));
  }
  absl::MutexLock lock(&mutex_);
  *response.mutable_time() = ToTimestamp(means_.clock.Now());
  response.set_requests(unknown_.requests());
  for (const SeenMachine& seen : unknown_.machines()) {
    v1::UnknownMachine& machine = *response.add_machines();
    machine.set_mac(seen.mac);
    machine.set_address(seen.peer);
    *machine.mutable_first_seen() = ToTimestamp(seen.first_seen);
    *machine.mutable_last_seen() = ToTimestamp(seen.last_seen);
    machine.set_requests(seen.requests);
    if (seen.facts.empty() || !machine.mutable_facts()->ParseFromString(seen.facts)) continue;
    *machine.mutable_told_at() = ToTimestamp(seen.told_at);
    if (!inventory.ok() || *inventory == nullptr) continue;
    for (const std::string& mac : PciEthernetMacs(machine.facts())) {
      const Node* const node = (*inventory)->FindMac(mac);
      if (node != nullptr) machine.set_node(node->name);
    }
  }
  return response;
}

uint64_t Boots::dropped() {
  absl::MutexLock lock(&mutex_);
  return dropped_;
}

}  // namespace muster::controller::boot
