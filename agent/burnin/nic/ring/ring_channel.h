// One of the parallel rings of an all-reduce: a connection to the next rank, one from the previous
// one, and a part of the data.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "agent/burnin/nic/transport/socket.h"
#include "common/sys/unique_fd.h"

namespace muster::burnin {

// Runs in one thread, which sends and receives as the sockets allow; received data can be sent on
// at once. Besides the data it holds kScratchBytes.
class RingChannel {
 public:
  static constexpr size_t kScratchBytes = size_t{256} << 10;
  // The ring fails if nothing moves for this long.
  static constexpr absl::Duration kStallTime = absl::Seconds(10);

  // Both connections must be established and authenticated.
  RingChannel(int rank, int ranks, sys::UniqueFd to_next, sys::UniqueFd from_previous);

  struct Outcome {
    absl::Status status;
    // The rank whose connection failed; -1: none.
    int suspect = -1;
  };
  // Leaves the sum of all ranks' data in the data of each rank. Cancelled: `stopping`.
  Outcome AllReduce(absl::Span<float> data, const Stopping& stopping);

 private:
  // The progress of one direction: a step, and bytes of its chunk.
  struct Position {
    int step = 0;
    size_t bytes = 0;
  };

  int Next() const { return (rank_ + 1) % ranks_; }
  int Previous() const { return (rank_ + ranks_ - 1) % ranks_; }
  absl::Span<float> Chunk(absl::Span<float> data, int chunk) const;
  // Bytes that may be sent now of the current chunk.
  size_t Sendable(absl::Span<float> data) const;
  // True: something moved.
  absl::StatusOr<bool> Send(absl::Span<float> data);
  absl::StatusOr<bool> Receive(absl::Span<float> data);
  absl::StatusOr<size_t> ReceiveInto(char* into, size_t size);
  // Goes to the next step whose chunk is not empty.
  void Advance(absl::Span<float> data, Position& position, bool sends) const;

  const int rank_;
  const int ranks_;
  const sys::UniqueFd to_next_;
  const sys::UniqueFd from_previous_;
  Position sent_;
  Position received_;
  std::vector<float> scratch_;
  size_t scratch_bytes_ = 0;  // bytes of it that wait for the rest of a number
};

}  // namespace muster::burnin
