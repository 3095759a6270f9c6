// The consoles of machines that boot, and those that somebody reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/base/worker.h"
#include "controller/console/console_line.h"
#include "controller/console/console_text.h"
#include "controller/inventory/bmc_access.h"
#include "controller/secret/secret_buffer.h"

namespace muster {
class Clock;
}
namespace muster::controller {
class Inventory;
class SecretSource;
}  // namespace muster::controller

namespace muster::controller::console {

// What is known of a node's console.
struct ConsoleView {
  std::vector<ConsoleRow> rows;
  bool is_read = false;         // at this moment
  bool is_established = false;  // and the BMC hands on what the machine writes
  std::string trouble;          // why it is not, for people; "": nothing is known to be wrong
};

// Reads the consoles of nodes whose inventory has `bmc_console: true`: from a boot's beginning, as
// far as the controller sees one, until kOfReturn after the node's agent is back, for kOfBoot at
// most; and as long as somebody asks. The text stays in memory alone. A BMC has one reader, so
// nobody's console is taken over, and none is held without need. Thread-safe.
class ConsoleCaptures {
 public:
  static constexpr size_t kMostOpen = 64;   // at once; others wait
  static constexpr size_t kMostKept = 256;  // nodes; others are forgotten, the longest unused first
  static constexpr absl::Duration kOfBoot = absl::Minutes(15);
  static constexpr absl::Duration kOfReader = absl::Seconds(30);  // since a reader has asked last
  static constexpr absl::Duration kOfReturn = absl::Minutes(1);   // since the agent is back
  static constexpr absl::Duration kInterval = absl::Milliseconds(250);
  static constexpr absl::Duration kLook = absl::Seconds(5);  // at who is back
  static constexpr absl::Duration kRetry = absl::Seconds(20);
  // A line on which nothing comes for so long is opened anew: a BMC may lose the serial port when
  // the machine is reset, and its session does not show it.
  static constexpr absl::Duration kSilence = absl::Minutes(1);

  struct Means {
    Clock& clock;
    SecretSource& secrets;  // asked as the reader "power"
    std::function<absl::StatusOr<std::shared_ptr<const Inventory>>()> inventory;
    std::function<bool(const std::string& node)> is_connected;  // its agent
    std::function<absl::StatusOr<std::unique_ptr<ConsoleLine>>(const BmcAccess&, SecretBuffer)>
        open;
  };

  // What `means` refers to must outlive the object.
  explicit ConsoleCaptures(Means means);

  void Start() { worker_.Start(); }
  // Leaves all consoles, and gives the library a moment to tell the BMCs.
  void Stop();

  // The machine boots, by an order of ours. Does not block. Nothing happens where the inventory
  // does not have its console read.
  void OnBoot(const std::string& node);
  // The machine is said to boot, by anybody in the network perhaps; asks the store. Nothing happens
  // either while its agent is connected, or its console is already read because it boots.
  void OnBootSeen(const std::string& node);

  // The last `most` rows with greater numbers than `after`. `follows`: the console is read from now
  // on, for kOfReader. FailedPrecondition, with the remedy: the inventory does not have it read.
  absl::StatusOr<ConsoleView> Read(const std::string& node, uint64_t after, size_t most,
                                   bool follows);

 private:
  struct Capture {
    ConsoleText text;
    bool is_read = false;  // it has a line
    bool is_established = false;
    absl::Time until = absl::InfinitePast();
    absl::Time next_try = absl::InfinitePast();
    absl::Time last_used = absl::InfinitePast();
    absl::Time last_followed = absl::InfinitePast();
    absl::Time last_heard = absl::InfinitePast();  // or opened
    bool is_boot = false;                          // it ends with the agent's return
    bool was_away = false;                         // the agent, since the boot has begun
    bool is_waiting = false;                       // for one of kMostOpen
    std::string trouble;
  };

  absl::Time Step();
  void BeginBoot(Capture& capture, absl::Time now);
  // Errors as of Read().
  absl::StatusOr<BmcAccess> AccessOf(const std::string& node) const;
  absl::StatusOr<std::unique_ptr<ConsoleLine>> Open(const std::string& node) const;
  // Opens the line that is due and has waited longest. Whether others are due.
  bool OpenNext(absl::Time now);
  void ReadAll(absl::Time now);
  void LookWhoIsBack(absl::Time now);
  Capture& Touch(const std::string& node, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Means means_;
  absl::Mutex mutex_;
  std::map<std::string, Capture> captures_ ABSL_GUARDED_BY(mutex_);  // by node
  // The worker's own.
  std::map<std::string, std::unique_ptr<ConsoleLine>> lines_;  // by node
  absl::Time next_look_ = absl::InfinitePast();
  Worker worker_;
};

}  // namespace muster::controller::console
