// What nodes are to boot, and what their boots were seen to do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/text/join_word.h"
#include "common/base/worker.h"
#include "controller/boot/boot_state.h"
#include "controller/boot/decision.h"
#include "controller/boot/signed_boot.h"
#include "controller/boot/unknown_machines.h"
#include "controller/store/tables.h"
#include "muster/v1/boot.pb.h"
#include "muster/v1/facts.pb.h"
#include "muster/v1/image.pb.h"

namespace muster {
class Clock;
}
namespace muster::controller {
class Inventory;
class Store;
class Transaction;
struct Actor;
struct Node;
}  // namespace muster::controller
namespace muster::controller::image {
class ImageStore;
}

namespace muster::controller::boot {

// What a machine is told.
struct Answer {
  enum class Kind { kUnknown, kDisk, kImage, kNoImage };
  Kind kind = Kind::kUnknown;
  std::string node;
  std::string boot_id;
  std::string what;     // "disk", "debian-worker@1a2b3c4d5e6f"
  std::string trouble;  // of kNoImage, and of kUnknown
  // Of kImage: what it boots. Of kUnknown: the image by which a machine tells of itself; nullptr if
  // there is none.
  std::shared_ptr<const v1::Image> image;
  // Whether kImage is written to a disk, and which one, see BootDefault; "": as the image says.
  bool is_for_disk = false;
  std::string disk;
  std::string join;  // the value of kJoinWord; "": it does not join by itself
  bool has_peers = false;
  // What its signed kernel image was signed with, which is booted then; "": the image is booted
  // unsigned.
  std::string command_line;
};

// What a machine that has booted a signed image of the kind `disk` is to do with its disk.
struct DiskOrder {
  std::shared_ptr<const v1::Image> image;
  std::string device;  // that the inventory names; "": as the image says
  std::string node;    // under which it joins then; "": it does not join by itself
};

// Orders are in the store; so are boots and their steps, which a thread of its own writes a
// moment later: machines that boot do not wait for the disk, and whoever sends their addresses
// makes it no busier than that thread is. A crash loses what waits. Thread-safe.
class Boots {
 public:
  // Boots of a node that are kept.
  static constexpr uint32_t kKept = 10;
  // What waits for the store; more is counted and forgotten.
  static constexpr size_t kMaxWaiting = 20'000;

  struct Means {
    Store& store;
    Clock& clock;
    image::ImageStore& images;
    std::function<absl::StatusOr<std::shared_ptr<const Inventory>>()> inventory;
    std::function<void(absl::string_view)> warn;  // writes to the log
    JoinWord join = {};                           // of all nodes, without the name
    std::string listen = "off";                   // boot_listen
    // Somebody says that a machine boots that is this node.
    std::function<void(const std::string& node)> on_boot = [](const std::string&) {};
  };

  // What `means` refers to must outlive the object.
  explicit Boots(Means means);
  ~Boots();  // stops

  // Reads what an earlier process left, and starts the thread.
  absl::Status Start();
  // Writes what waits, and ends the thread.
  void Stop();

  // Begins a boot of the machine. Unavailable: there is no inventory, or it cannot be read.
  absl::StatusOr<Answer> Begin(const std::string& mac, absl::string_view peer);
  // What a machine is told that has booted a signed kernel image for the root of this digest.
  // NotFound: that is not what it was to boot last. Unavailable as of Begin().
  absl::StatusOr<BootWords> WordsOf(const std::string& mac, absl::string_view root_sha256);
  // The order of a machine with these MAC addresses, canonical, that has booted a root of this
  // digest. FailedPrecondition, with the reason: it is to leave its disk alone. Unavailable as of
  // Begin().
  absl::StatusOr<DiskOrder> DiskOrderOf(const std::vector<std::string>& macs,
                                        absl::string_view root_sha256);
  // What a signed kernel image of the image has as its command line. FailedPrecondition, with the
  // reason: it cannot be booted so.
  absl::StatusOr<std::string> CommandLineOf(const v1::Image& image) const;
  // The last byte of it was sent.
  void OnScriptSent(const std::string& boot_id);
  void OnArtifactSent(const std::string& boot_id, absl::string_view image,
                      absl::string_view artifact);
  // The rack of the node whose last boot this is, of this image; "": none, or not known any more.
  // NotFound: it is no node's last boot.
  absl::StatusOr<std::string> RackOf(const std::string& boot_id, absl::string_view image);
  // `found`: of REFUSED the digest, of NOT_WRITTEN, DENIED and NO_MEMORY the reason. NotFound: it
  // is no node's last boot, or not one of an image; what becomes of a disk may be said of any boot
  // that wrote one.
  absl::Status OnReport(const std::string& boot_id, v1::BootPhase phase, const std::string& found);
  // A machine that is not a node, and has been on for so long, tells of itself. True: it has become
  // one, and is to boot anew. NotFound: none is to tell of itself. Unavailable as of Begin().
  absl::StatusOr<bool> OnDiscovery(const std::string& mac, absl::string_view peer,
                                   const v1::Facts& facts, absl::Duration up_for);

  // See BootService. `nodes` are of `inventory`.
  absl::Status Set(const Inventory& inventory, const std::vector<const Node*>& nodes,
                   const BootChoice& choice, bool once, const Actor& actor);
  // Has the build written to the disk of the node at its next boot, by an order that has this id.
  // `also` is stored in the same transaction, so that no order is left without what it is for; its
  // error is returned. NotFound, InvalidArgument, FailedPrecondition: it cannot be, with the
  // reason.
  absl::Status OrderForDisk(const std::string& order_id, const std::string& node,
                            const std::string& image, const Actor& actor,
                            absl::FunctionRef<absl::Status(Transaction&)> also);
  // Takes back the node's order if it is still that one. A boot that has begun by it continues:
  // what it writes is on the disk all the same.
  absl::Status TakeBack(const std::string& order_id, const std::string& node);
  // The nodes' machines are no members any more, and the store has forgotten their disks: what
  // boots under these names later has another disk, or has its disk written anew.
  void ForgetDisks(const std::vector<std::string>& nodes);
  // The nodes that had an order.
  absl::StatusOr<std::vector<std::string>> Clear(const std::vector<const Node*>& nodes,
                                                 const Actor& actor);
  v1::NodeBoot Describe(const Inventory& inventory, const Node& node);
  v1::ListUnknownMachinesResponse ListUnknown();
  uint64_t dropped();

 private:
  using InventoryPtr = std::shared_ptr<const Inventory>;

  // Whether the node can boot what is chosen; otherwise the errors of Set().
  absl::Status CheckChoice(const Inventory& inventory, const Node& node,
                           const BootChoice& choice) const;
  // At least one, all of the same choice. Stores `also` with them.
  absl::Status PutOrders(std::vector<BootOrderRecord> orders, const Actor& actor,
                         absl::FunctionRef<absl::Status(Transaction&)> also);
  absl::Status RemoveOrders(const std::vector<BootOrderRecord>& orders, const Actor& actor,
                            absl::string_view why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(ordering_);

  absl::Status Load();
  absl::Time Step();
  // nullptr: there is none yet. Unavailable: it cannot be read.
  absl::StatusOr<InventoryPtr> ReadInventory() const;
  // What a machine is told that is no node.
  Answer AnswerStranger(const Inventory& inventory) const;
  // The command line of an image that is signed for this cluster as it is now. FailedPrecondition:
  // it is not.
  absl::StatusOr<std::string> SignedLineOf(const v1::Image& image) const;
  std::string JoinOf(const Inventory& inventory, const Node& node, const Decision& decision) const;
  // The name under which a machine joins that has booted a signed kernel image; "": it does not.
  std::string NameToJoin(const Inventory& inventory, const Node& node) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Wait(BootChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Means means_;
  absl::Mutex ordering_;  // held while orders are stored; before mutex_
  absl::Mutex mutex_;
  BootState state_ ABSL_GUARDED_BY(mutex_);
  UnknownMachines unknown_ ABSL_GUARDED_BY(mutex_);
  std::vector<BootChange> waiting_ ABSL_GUARDED_BY(mutex_);
  uint64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
  // The worker alone uses it.
  absl::Time retry_at_ = absl::InfinitePast();
  Worker worker_;
};

}  // namespace muster::controller::boot
