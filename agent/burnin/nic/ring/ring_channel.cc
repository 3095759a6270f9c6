#include "agent/burnin/nic/ring/ring_channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "agent/burnin/nic/ring/ring.h"
#include "common/base/status.h"

namespace muster::burnin {
namespace {

constexpr int kChannelLookMs = 50;

}  // namespace

RingChannel::RingChannel(int rank, int ranks, sys::UniqueFd to_next, sys::UniqueFd from_previous)
    : rank_(rank),
      ranks_(ranks),
      to_next_(std::move(to_next)),
      from_previous_(std::move(from_previous)),
      scratch_(kScratchBytes / sizeof(float)) {}

absl::Span<float> RingChannel::Chunk(absl::Span<float> data, int chunk) const {
  const ElementRange range = PartOf(data.size(), ranks_, chunk);
  return data.subspan(range.begin, range.size());
}

void RingChannel::Advance(absl::Span<float> data, Position& position, bool sends) const {
  while (position.step < RingSteps(ranks_)) {
    const RingStep step = StepOf(rank_, ranks_, position.step);
    const size_t size = Chunk(data, sends ? step.send_chunk : step.receive_chunk).size();
    if (position.bytes < size * sizeof(float)) return;
    ++position.step;
    position.bytes = 0;
  }
}

size_t RingChannel::Sendable(absl::Span<float> data) const {
  if (sent_.step >= RingSteps(ranks_)) return 0;
  const size_t size =
      Chunk(data, StepOf(rank_, ranks_, sent_.step).send_chunk).size() * sizeof(float);
  // The first chunk is our own, all others are those received in the step before.
  if (sent_.step == 0 || received_.step >= sent_.step) return size - sent_.bytes;
  if (received_.step < sent_.step - 1) return 0;
  const size_t whole = received_.bytes / sizeof(float) * sizeof(float);
  return whole - std::min(whole, sent_.bytes);
}

absl::StatusOr<bool> RingChannel::Send(absl::Span<float> data) {
  const size_t size = Sendable(data);
  if (size == 0) return false;
  const absl::Span<float> chunk = Chunk(data, StepOf(rank_, ranks_, sent_.step).send_chunk);
  const ssize_t count =
      send(to_next_.get(), reinterpret_cast<const char*>(chunk.data()) + sent_.bytes, size,
           MSG_NOSIGNAL);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) return false;
    return SocketError(errno, "sending");
  }
  sent_.bytes += static_cast<size_t>(count);
  Advance(data, sent_, /*sends=*/true);
  return count > 0;
}

absl::StatusOr<size_t> RingChannel::ReceiveInto(char* into, size_t size) {
  const ssize_t count = recv(from_previous_.get(), into, size, 0);
  if (count > 0) return static_cast<size_t>(count);
  if (count == 0) return absl::UnavailableError("it closed the connection early");
  if (errno == EAGAIN || errno == EINTR) return size_t{0};
  return SocketError(errno, "receiving");
}

absl::StatusOr<bool> RingChannel::Receive(absl::Span<float> data) {
  if (received_.step >= RingSteps(ranks_)) return false;
  const RingStep step = StepOf(rank_, ranks_, received_.step);
  const absl::Span<float> chunk = Chunk(data, step.receive_chunk);
  const size_t left = chunk.size() * sizeof(float) - received_.bytes;
  if (!step.reduce) {
    ASSIGN_OR_RETURN(const size_t count,
                     ReceiveInto(reinterpret_cast<char*>(chunk.data()) + received_.bytes, left));
    received_.bytes += count;
    Advance(data, received_, /*sends=*/false);
    return count > 0;
  }
  // `received_` counts whole numbers here; the beginning of an incomplete one waits in the scratch.
  char* scratch = reinterpret_cast<char*>(scratch_.data());
  ASSIGN_OR_RETURN(const size_t count, ReceiveInto(scratch + scratch_bytes_,
                                                   std::min(left, kScratchBytes) - scratch_bytes_));
  if (count == 0) return false;
  scratch_bytes_ += count;
  const size_t numbers = scratch_bytes_ / sizeof(float);
  float* into = chunk.data() + received_.bytes / sizeof(float);
  for (size_t i = 0; i < numbers; ++i) into[i] += scratch_[i];
  scratch_bytes_ -= numbers * sizeof(float);
  std::memmove(scratch, scratch + numbers * sizeof(float), scratch_bytes_);
  received_.bytes += numbers * sizeof(float);
  Advance(data, received_, /*sends=*/false);
  return true;
}

RingChannel::Outcome RingChannel::AllReduce(absl::Span<float> data, const Stopping& stopping) {
  sent_ = {};
  received_ = {};
  scratch_bytes_ = 0;
  Advance(data, sent_, /*sends=*/true);
  Advance(data, received_, /*sends=*/false);
  Moment moved = Monotonic::now();
  while (sent_.step < RingSteps(ranks_) || received_.step < RingSteps(ranks_)) {
    const absl::StatusOr<bool> in = Receive(data);
    if (!in.ok()) return {in.status(), Previous()};
    const absl::StatusOr<bool> out = Send(data);
    if (!out.ok()) return {out.status(), Next()};
    if (*in || *out) {
      moved = Monotonic::now();
      continue;
    }
    if (stopping()) return {absl::CancelledError("stopped")};
    if (SecondsBetween(moved, Monotonic::now()) > absl::ToDoubleSeconds(kStallTime))
      return {absl::DeadlineExceededError(
                  absl::StrCat("nothing moved for ", absl::FormatDuration(kStallTime))),
              received_.step < RingSteps(ranks_) ? Previous() : Next()};
    pollfd polled[] = {
        {.fd = received_.step < RingSteps(ranks_) ? from_previous_.get() : -1, .events = POLLIN},
        {.fd = Sendable(data) > 0 ? to_next_.get() : -1, .events = POLLOUT}};
    poll(polled, 2, kChannelLookMs);
  }
  return {};
}

}  // namespace muster::burnin
