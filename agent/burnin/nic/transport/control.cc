#include "agent/burnin/nic/transport/control.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

// A frame is far smaller than any socket's buffer.
constexpr absl::Duration kSendTime = absl::Seconds(10);

}  // namespace

absl::Status Control::Send(const Frame& frame) {
  return SendAll(fd_.get(), Encode(frame), After(kSendTime));
}

absl::StatusOr<std::optional<Frame>> Control::Poll() {
  for (;;) {
    ASSIGN_OR_RETURN(std::optional<Frame> frame, decoder_.Next());
    if (frame.has_value()) return frame;
    char bytes[512];
    const ssize_t count = recv(fd_.get(), bytes, sizeof bytes, 0);
    if (count > 0) {
      decoder_.Add(absl::string_view(bytes, static_cast<size_t>(count)));
    } else if (count == 0) {
      return absl::UnavailableError("it closed the connection early");
    } else if (errno == EAGAIN) {
      return std::optional<Frame>();
    } else if (errno != EINTR) {
      return SocketError(errno, "receiving");
    }
  }
}

absl::StatusOr<Frame> Control::Expect(FrameType type, std::optional<uint32_t> phase,
                                      Moment deadline, const Stopping& stopping) {
  for (;;) {
    ASSIGN_OR_RETURN(const std::optional<Frame> frame, Poll());
    if (!frame.has_value()) {
      RETURN_IF_ERROR(WaitFor(fd_.get(), POLLIN, deadline, stopping));
      continue;
    }
    if (frame->type != type || (phase.has_value() && frame->value(0) != *phase))
      return absl::InternalError(absl::StrCat(
          "the partner is in another phase: it sent message ", static_cast<int>(frame->type),
          " of phase ", frame->value(0), "; both ends need equal parameters"));
    return *frame;
  }
}

}  // namespace muster::burnin
