// The connection on which two nodes agree on the next step, as frames with time limits.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/burnin/nic/transport/socket.h"
#include "agent/burnin/nic/transport/wire.h"
#include "common/sys/unique_fd.h"

namespace muster::burnin {

// One end of the connection. Unavailable from any call: the partner is lost. Not thread-safe.
class Control {
 public:
  explicit Control(sys::UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  absl::Status Send(const Frame& frame);
  // The next frame that has already arrived; nullopt: there is none.
  absl::StatusOr<std::optional<Frame>> Poll();
  // The next frame, which must be of `type` and, if `phase` is given, begin with it. Any other
  // frame is Internal, because both sides run the same program.
  absl::StatusOr<Frame> Expect(FrameType type, std::optional<uint32_t> phase, Moment deadline,
                               const Stopping& stopping);

 private:
  sys::UniqueFd fd_;
  FrameDecoder decoder_;
};

}  // namespace muster::burnin
