#include "agent/burnin/nic/pair/peers.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/digest.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// Connections that the kernel holds for us before we accept them.
constexpr int kBacklog = 64;
// How often a waiting thread looks whether to stop.
constexpr absl::Duration kPeersLook = absl::Milliseconds(50);

// Sends a proof, which fits any socket's buffer: sending only a part of it is an error.
bool SendAtOnce(int fd, absl::string_view bytes) {
  return send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

}  // namespace

absl::StatusOr<std::unique_ptr<PeerListener>> PeerListener::Open(const LocalEnd& at,
                                                                 std::string key) {
  if (key.empty())
    return absl::InvalidArgumentError(
        "no one-time key was specified, and no port is opened without one");
  ASSIGN_OR_RETURN(sys::UniqueFd socket, Listen(at, kBacklog));
  ASSIGN_OR_RETURN(const Endpoint endpoint, LocalEndpoint(socket.get()));
  sys::UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.valid()) return ErrnoStatus(errno, "eventfd");
  return std::unique_ptr<PeerListener>(
      new PeerListener(std::move(socket), std::move(wake), endpoint.port, std::move(key)));
}

PeerListener::PeerListener(sys::UniqueFd socket, sys::UniqueFd wake, int port, std::string key)
    : key_(std::move(key)), socket_(std::move(socket)), wake_(std::move(wake)), port_(port) {
  thread_ = std::thread([this] { Serve(); });
}

PeerListener::~PeerListener() {
  eventfd_write(wake_.get(), 1);
  thread_.join();
}

void PeerListener::Serve() {
  std::vector<Pending> pending;
  std::vector<pollfd> polled;
  for (;;) {
    polled = {{.fd = wake_.get(), .events = POLLIN, .revents = 0},
              {.fd = socket_.get(), .events = POLLIN, .revents = 0}};
    Moment first = After(absl::Minutes(1));
    for (const Pending& one : pending) {
      polled.push_back({.fd = one.fd.get(), .events = POLLIN, .revents = 0});
      first = std::min(first, one.deadline);
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(first - Monotonic::now());
    poll(polled.data(), polled.size(), static_cast<int>(std::max<int64_t>(wait.count(), 0)));
    if (polled[0].revents != 0) return;
    for (size_t i = pending.size(); i-- > 0;) {
      const bool over = polled[i + 2].revents != 0 && Answer(pending[i]);
      if (!over && pending[i].deadline > Monotonic::now()) continue;
      if (!over) CountRefused();
      pending.erase(pending.begin() + static_cast<ptrdiff_t>(i));
    }
    if (polled[1].revents != 0) Accept(pending);
  }
}

void PeerListener::Accept(std::vector<Pending>& pending) {
  Pending fresh{
      .fd = sys::UniqueFd(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)),
      .greeting = {.nonce = RandomBytes(kNonceBytes)},
      .received = {},
      .deadline = After(kProofTime)};
  if (!fresh.fd.valid() || !PrepareAccepted(fresh.fd.get()).ok() ||
      !SendAtOnce(fresh.fd.get(), Encode(fresh.greeting)))
    return;
  if (pending.size() == kMaxPending) {
    pending.erase(pending.begin());
    CountRefused();
  }
  pending.push_back(std::move(fresh));
}

bool PeerListener::Answer(Pending& pending) {
  // Not a byte beyond the hello is read: the rest belongs to whoever asks for the connection.
  char chunk[kHelloBytes];
  const ssize_t count = recv(pending.fd.get(), chunk, kHelloBytes - pending.received.size(), 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count > 0) pending.received.append(chunk, static_cast<size_t>(count));
  if (count > 0 && pending.received.size() < kHelloBytes) return false;
  const absl::StatusOr<Hello> hello = ParseHello(pending.received);
  if (!hello.ok() ||
      !ConstantTimeEquals(hello->proof, ConnectorProof(key_, pending.greeting, *hello)) ||
      !SendAtOnce(pending.fd.get(), ListenerProof(key_, pending.greeting, *hello))) {
    CountRefused();
    return true;
  }
  absl::MutexLock lock(&mutex_);
  if (proved_.size() < kMaxWaiting) proved_.emplace(hello->channel, std::move(pending.fd));
  return true;
}

void PeerListener::CountRefused() {
  absl::MutexLock lock(&mutex_);
  ++refused_;
}

int PeerListener::refused() const {
  absl::MutexLock lock(&mutex_);
  return refused_;
}

absl::StatusOr<sys::UniqueFd> PeerListener::Await(const ChannelId& channel, Moment deadline,
                                                  const Stopping& stopping) {
  struct Wanted {
    const std::map<ChannelId, sys::UniqueFd>& proved;
    const ChannelId& channel;
  };
  absl::MutexLock lock(&mutex_);
  Wanted wanted{proved_, channel};
  const absl::Condition came(
      +[](Wanted* wanted) { return wanted->proved.contains(wanted->channel); }, &wanted);
  while (!mutex_.AwaitWithTimeout(came, kPeersLook)) {
    if (stopping && stopping()) return absl::CancelledError("stopped");
    if (Monotonic::now() >= deadline)
      return absl::DeadlineExceededError("the partner did not connect in time");
  }
  const auto it = proved_.find(channel);
  sys::UniqueFd fd = std::move(it->second);
  proved_.erase(it);
  return fd;
}

absl::StatusOr<sys::UniqueFd> ConnectToPeer(const Endpoint& to, const LocalEnd& from,
                                            absl::string_view key, const ChannelId& channel,
                                            Moment deadline) {
  if (key.empty()) return absl::InvalidArgumentError("there is no one-time key");
  const std::string what = absl::StrCat("authenticating to ", EndpointText(to));
  ASSIGN_OR_RETURN(sys::UniqueFd fd, Connect(to, from, deadline));
  char bytes[kGreetingBytes];
  RETURN_IF_ERROR(Annotate(ReceiveAll(fd.get(), bytes, kGreetingBytes, deadline), what));
  ASSIGN_OR_RETURN(const Greeting greeting,
                   ParseGreeting(absl::string_view(bytes, kGreetingBytes)));
  Hello hello{.channel = channel, .nonce = RandomBytes(kNonceBytes), .proof = {}};
  hello.proof = ConnectorProof(key, greeting, hello);
  RETURN_IF_ERROR(Annotate(SendAll(fd.get(), Encode(hello), deadline), what));
  char proof[kProofBytes];
  if (const absl::Status status = ReceiveAll(fd.get(), proof, kProofBytes, deadline); !status.ok())
    return absl::IsUnavailable(status)
               ? absl::PermissionDeniedError(
                     absl::StrCat(what, ": it closed the connection; it may have a different key"))
               : Annotate(status, what);
  if (!ConstantTimeEquals(absl::string_view(proof, kProofBytes),
                          ListenerProof(key, greeting, hello)))
    return absl::PermissionDeniedError(absl::StrCat(what, ": it does not know the key"));
  return fd;
}

}  // namespace muster::burnin
