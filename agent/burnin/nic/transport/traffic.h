// Bulk data over TCP: as much as the connections take, each in a thread of its own.
//
// Memory does not depend on rate or duration: all senders share one file of kPatternBytes in
// memory, receivers keep nothing, and the rest is the kernel's, bounded by tcp_wmem and tcp_rmem.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/burnin/nic/transport/socket.h"
#include "common/sys/unique_fd.h"

namespace muster::burnin {

// How bytes get into a socket.
enum class SendMethod {
  kAuto,      // kSendfile; kCopy if the kernel refuses it
  kSendfile,  // the network card reads the pages of a file in memory
  kCopy,      // send(2)
};

// Sends until it is stopped.
class TrafficSender {
 public:
  static constexpr size_t kPatternBytes = size_t{1} << 20;

  struct Totals {
    uint64_t bytes = 0;  // bytes that the kernel accepted
    uint64_t segments_sent_again = 0;
    double smoothed_rtt_us = 0;  // mean over the streams
    uint32_t path_mtu = 0;       // smallest
    SendMethod method = SendMethod::kSendfile;
  };

  // `streams` are connected. Starts at once.
  static absl::StatusOr<std::unique_ptr<TrafficSender>> Start(std::vector<sys::UniqueFd> streams,
                                                              SendMethod method);
  ~TrafficSender();

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Also nonzero when a connection broke before Stop().
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  // Ends all streams, waits for the threads and returns the kernel's counts.
  Totals Stop();

 private:
  TrafficSender(std::vector<sys::UniqueFd> streams, sys::UniqueFd pattern, SendMethod method);
  void Send(int fd, const std::string& pattern);

  std::vector<sys::UniqueFd> streams_;
  const sys::UniqueFd pattern_file_;
  const SendMethod method_;
  std::string pattern_;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<bool> copied_ = false;
  std::vector<std::thread> threads_;
};

// Receives until the senders end, and discards the data without copying it.
class TrafficReceiver {
 public:
  explicit TrafficReceiver(std::vector<sys::UniqueFd> streams);
  ~TrafficReceiver();

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  // Streams that have ended, well or not.
  size_t ended() const { return ended_.load(std::memory_order_relaxed); }
  size_t streams() const { return streams_.size(); }

 private:
  void Receive(int fd);

  std::vector<sys::UniqueFd> streams_;
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<size_t> ended_ = 0;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

// Round trips of small messages for `duration`, in microseconds: at most kMaxRoundTrips, then it
// ends early. The other end runs EchoUntilClosed().
inline constexpr size_t kMaxRoundTrips = 200'000;
absl::StatusOr<std::vector<float>> MeasureRoundTrips(int fd, absl::Duration duration,
                                                     size_t message_bytes,
                                                     const Stopping& stopping);
// Echoes everything until the other end closes its side: OK.
absl::Status EchoUntilClosed(int fd, Moment deadline, const Stopping& stopping);

}  // namespace muster::burnin
