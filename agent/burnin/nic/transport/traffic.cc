#include "agent/burnin/nic/transport/traffic.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>

#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// How long a thread sleeps in poll() before it looks whether to stop.
constexpr int kTrafficLookMs = 50;
// Requested by one recv(); bounds how late a stop is noticed.
constexpr size_t kReceiveBytes = size_t{4} << 20;
// A round-trip message that takes longer is lost.
constexpr absl::Duration kEchoTime = absl::Seconds(5);

void Wait(int fd, short events) {
  pollfd wait = {.fd = fd, .events = events, .revents = 0};
  poll(&wait, 1, kTrafficLookMs);
}

// sendfile(2) has no MSG_NOSIGNAL. The signal is for this thread and dies with it.
void BlockSigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrafficSender>> TrafficSender::Start(
    std::vector<sys::UniqueFd> streams, SendMethod method) {
  sys::UniqueFd file;
  if (method != SendMethod::kCopy) {
    file = sys::UniqueFd(memfd_create("muster-burnin traffic", MFD_CLOEXEC));
    // Random, so that nothing on the path can compress it.
    const std::string pattern = RandomBytes(kPatternBytes);
    if (!file.valid() || pwrite(file.get(), pattern.data(), pattern.size(), 0) !=
                             static_cast<ssize_t>(pattern.size())) {
      if (method == SendMethod::kSendfile) return ErrnoStatus(errno, "making a file in memory");
      method = SendMethod::kCopy;
    }
  }
  return std::unique_ptr<TrafficSender>(
      new TrafficSender(std::move(streams), std::move(file), method));
}

TrafficSender::TrafficSender(std::vector<sys::UniqueFd> streams, sys::UniqueFd pattern,
                             SendMethod method)
    : streams_(std::move(streams)), pattern_file_(std::move(pattern)), method_(method) {
  // Also for streams whose sendfile() is refused later.
  if (method_ != SendMethod::kSendfile) pattern_ = RandomBytes(kPatternBytes);
  for (const sys::UniqueFd& stream : streams_)
    threads_.emplace_back([this, fd = stream.get()] { Send(fd, pattern_); });
}

TrafficSender::~TrafficSender() { Stop(); }

void TrafficSender::Send(int fd, const std::string& pattern) {
  BlockSigpipe();
  bool copy = method_ == SendMethod::kCopy;
  while (!stopping_.load(std::memory_order_relaxed)) {
    off_t offset = 0;
    const ssize_t count = copy ? send(fd, pattern.data(), pattern.size(), MSG_NOSIGNAL)
                               : sendfile(fd, pattern_file_.get(), &offset, kPatternBytes);
    if (count > 0) {
      bytes_.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
    } else if (errno == EAGAIN) {
      Wait(fd, POLLOUT);
    } else if (!copy && method_ == SendMethod::kAuto && (errno == EINVAL || errno == ENOSYS)) {
      copy = true;
    } else if (errno != EINTR) {
      broken_ = true;
      break;
    }
  }
  if (copy) copied_ = true;
}

TrafficSender::Totals TrafficSender::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  Totals totals{.bytes = bytes(), .method = copied_ ? SendMethod::kCopy : SendMethod::kSendfile};
  double rtt_us = 0;
  for (const sys::UniqueFd& stream : streams_) {
    tcp_info info = {};
    socklen_t size = sizeof info;
    if (getsockopt(stream.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
      totals.segments_sent_again += info.tcpi_total_retrans;
      rtt_us += info.tcpi_rtt;
      totals.path_mtu =
          totals.path_mtu == 0 ? info.tcpi_pmtu : std::min(totals.path_mtu, info.tcpi_pmtu);
    }
    shutdown(stream.get(), SHUT_WR);
  }
  if (!streams_.empty()) totals.smoothed_rtt_us = rtt_us / static_cast<double>(streams_.size());
  return totals;
}

TrafficReceiver::TrafficReceiver(std::vector<sys::UniqueFd> streams)
    : streams_(std::move(streams)) {
  for (const sys::UniqueFd& stream : streams_)
    threads_.emplace_back([this, fd = stream.get()] { Receive(fd); });
}

TrafficReceiver::~TrafficReceiver() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void TrafficReceiver::Receive(int fd) {
  while (!stopping_.load(std::memory_order_relaxed)) {
    // TCP's MSG_TRUNC (tcp(7)): the bytes count as read and are not copied. Bypasses the C library,
    // because the sanitizers assume that its recv() has written them.
    const ssize_t count =
        syscall(SYS_recvfrom, fd, nullptr, kReceiveBytes, MSG_TRUNC, nullptr, nullptr);
    if (count > 0) {
      bytes_.fetch_add(static_cast<uint64_t>(count), std::memory_order_relaxed);
    } else if (count < 0 && errno == EAGAIN) {
      Wait(fd, POLLIN);
    } else if (count == 0 || errno != EINTR) {
      break;
    }
  }
  ++ended_;
}

absl::StatusOr<std::vector<float>> MeasureRoundTrips(int fd, absl::Duration duration,
                                                     size_t message_bytes,
                                                     const Stopping& stopping) {
  std::string message(message_bytes, 'm');
  std::vector<float> times;
  times.reserve(kMaxRoundTrips);
  const Moment end = After(duration);
  while (times.size() < kMaxRoundTrips) {
    const Moment start = Monotonic::now();
    if (start >= end) break;
    const Moment deadline = start + absl::ToChronoNanoseconds(kEchoTime);
    RETURN_IF_ERROR(SendAll(fd, message, deadline, stopping));
    RETURN_IF_ERROR(ReceiveAll(fd, message.data(), message.size(), deadline, stopping));
    times.push_back(static_cast<float>(SecondsBetween(start, Monotonic::now()) * 1e6));
  }
  return times;
}

absl::Status EchoUntilClosed(int fd, Moment deadline, const Stopping& stopping) {
  char bytes[4096];
  for (;;) {
    const ssize_t count = recv(fd, bytes, sizeof bytes, 0);
    if (count > 0) {
      RETURN_IF_ERROR(
          SendAll(fd, absl::string_view(bytes, static_cast<size_t>(count)), deadline, stopping));
    } else if (count == 0) {
      return absl::OkStatus();
    } else if (errno == EAGAIN) {
      RETURN_IF_ERROR(WaitFor(fd, POLLIN, deadline, stopping));
    } else if (errno != EINTR) {
      return SocketError(errno, "receiving");
    }
  }
}

}  // namespace muster::burnin
